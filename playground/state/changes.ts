import { computed } from "@preact/signals"
import type { Compiled } from "../../src/compile.ts"
import { compile } from "../../src/compile.ts"
import type { NodeChange } from "../../src/plan/compare-plans.ts"
import { comparePlans } from "../../src/plan/compare-plans.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { toJson } from "./draft.ts"
import { inputCheck } from "./input.ts"
import type { RunRequest, RunView } from "./run-view.ts"
import { unknownRequest } from "./run-view.ts"
import { graphOf, liveRun, watchWhole } from "./runs.ts"
import { lastGood } from "./source.ts"

const compiled = new WeakMap<RunRequest, Compiled>()

/** The text of a run, compiled. */
export function compiledOf({ request }: RunView): Compiled {
  let found = compiled.get(request)
  if (found === undefined) compiled.set(request, (found = compile(request.source, request.around)))
  return found
}

/** The plan of a run; null where its source is not known, or has errors. */
export function planOf(run: RunView): Plan | null {
  return compiledOf(run).plan ?? null
}

/** The run that a re-run of the changed steps would take results over from; null where there is none. */
export const earlierRun = computed((): RunView | null => {
  const run = watchWhole()
  if (run === null || liveRun.value !== null || run.state.finished_at === null || run.run_id === undefined) return null
  if (run.request === unknownRequest || graphOf.value === "other" || run.state.started_at === null) return null
  return run
})

/** How each node differs from that run: what the author has changed since. */
export const changes = computed((): ReadonlyMap<string, NodeChange> => {
  const run = earlierRun.value
  const before = run === null ? null : planOf(run)
  if (run === null || before === null) return new Map()
  const { value: input } = inputCheck.value
  const after = input === null ? run.request.input : toJson(input)
  const found = comparePlans(before, lastGood.value.plan, { before: run.request.input, after })
  for (const node of run.state.nodes) {
    // What failed, or was never reached, runs in any case.
    const unfinished = node.state !== "completed" && node.state !== "skipped" && node.kind !== "output"
    if (unfinished && found.get(node.id)?.status === "same") {
      found.set(node.id, { status: "changed", why: "It did not finish" })
    }
  }
  return found
})

/** Whether a node would run, and why. */
export function wouldRun(id: string): string | null {
  const change = changes.value.get(id)
  return change === undefined || change.status === "same" || id === "output" ? null : change.why
}

/** How many steps a re-run would run again; null where there is nothing to take over. */
export const changedSteps = computed((): number | null => {
  if (earlierRun.value === null) return null
  return [...changes.value.keys()].filter((id) => wouldRun(id) !== null).length
})

/** Whether a re-run would give anything new: the output alone may have changed. */
export const hasChanges = computed(() => [...changes.value.values()].some(({ status }) => status !== "same"))
