import { computed } from "@preact/signals"
import { changes, wouldRun } from "../shown-run/changes.ts"
import { fileName } from "../files/files.ts"
import type { KeptRun } from "./kept-runs.ts"
import { keptRuns } from "./kept-runs.ts"
import type { Expected } from "./ranges.ts"
import { addedExpected, rangesOf } from "./ranges.ts"

/** Older runs say less about what the next one takes. */
const maxRuns = 20

/** By step that would run: what to expect of it. */
export const expected = computed((): ReadonlyMap<string, Expected> => {
  const runs = keptRuns.value.filter(({ request }) => request.name === fileName.value).slice(0, maxRuns)
  const ids = [...changes.value.keys()].filter((id) => wouldRun(id) !== null)
  return new Map(ids.flatMap((id) => expectedOf(runs, id)))
})

function expectedOf(runs: readonly KeptRun[], id: string): [string, Expected][] {
  const figures = runs.flatMap(({ steps }) => steps?.[id] ?? [])
  const found = rangesOf(figures)
  return found === null ? [] : [[id, found]]
}

/** What all steps that would run took together; null where nothing is known of one of them. */
export const expectedOfAll = computed((): Expected | null => {
  const ids = [...changes.value.keys()].filter((id) => wouldRun(id) !== null)
  const all = ids.flatMap((id) => expected.value.get(id) ?? [])
  const [first] = all
  if (first === undefined || all.length < ids.length) return null
  return all.slice(1).reduce(addedExpected, first)
})
