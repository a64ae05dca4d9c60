import { computed, effect, signal } from "@preact/signals"
import type { Compiled } from "../../src/compile.ts"
import { compile } from "../../src/compile.ts"
import type { NodeChange } from "../../src/plan/compare-plans.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { Source } from "../language/analysis.ts"
import { toJson } from "../form/draft.ts"
import { inputCheck } from "../form/input.ts"
import { ask } from "../language/ask.ts"
import type { RunRequest, RunView } from "./run-view.ts"
import { unknownRequest } from "./run-view.ts"
import { graphOf, liveRun, watchWhole } from "./shown-run.ts"
import { compilationOf, lastGood } from "../language/source.ts"

const compiled = new WeakMap<RunRequest, Compiled>()

/** The text of a run, compiled, with its program. */
export function compiledOf({ request }: RunView): Compiled {
  let found = compiled.get(request)
  if (found === undefined) compiled.set(request, (found = compile(request.source, request.around)))
  return found
}

const plans = new WeakMap<RunRequest, Plan | null>()

/** The plan of a run; null where its source is not known, or has errors. */
export function planOf({ request }: RunView): Plan | null {
  let found = plans.get(request)
  if (found === undefined) plans.set(request, (found = compilationOf(sourceOf(request)).plan ?? null))
  return found
}

/** The text of a run, as the worker is asked about it. */
export function sourceOf({ source, around }: RunRequest): Source {
  return { text: source, ...around }
}

/** The run that a re-run of the changed steps would take results over from; null where there is none. */
export const earlierRun = computed((): RunView | null => {
  const run = watchWhole()
  if (run === null || liveRun.value !== null || run.state.finished_at === null || run.run_id === undefined) return null
  // The next message of a chat is another question, not a change of the last one.
  if (run.request.isChat === true) return null
  if (run.request === unknownRequest || graphOf.value === "other" || run.state.started_at === null) return null
  return run
})

/** How the newest plan that the worker has compared differs from that of a run. */
const compared = signal<{ readonly run: RunView; readonly changes: ReadonlyMap<string, NodeChange> } | null>(null)

effect(() => {
  const run = earlierRun.value
  const { source } = lastGood.value
  const { value: input } = inputCheck.value
  if (run === null || source === undefined) return
  const { request } = run
  const after = input === null ? request.input : toJson(input)
  ask("changes", source, sourceOf(request), { before: request.input, after }).then(
    (found) => {
      if (found !== null) compared.value = { run, changes: found }
    },
    // Then nothing is known to have changed.
    () => undefined,
  )
})

const notFinished = "It did not finish"

/** How each node differs from that run: what the author has changed since. */
export const changes = computed((): ReadonlyMap<string, NodeChange> => {
  const run = earlierRun.value
  if (run === null || compared.value?.run !== run) return new Map()
  const found = new Map(compared.value.changes)
  for (const node of run.state.nodes) {
    // What failed, or was never reached, runs in any case.
    const unfinished = node.state !== "completed" && node.state !== "skipped" && node.kind !== "output"
    if (unfinished && found.get(node.id)?.status === "same") {
      found.set(node.id, { status: "changed", why: notFinished })
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

/** Whether the author has changed nothing, and a re-run would only do what the last run did not finish. */
export const isRetry = computed(
  () =>
    hasChanges.value &&
    [...changes.value.values()].every(({ status, why }) => status === "same" || why === notFinished),
)

/** Whether a re-run would give anything new: the output alone may have changed. */
export const hasChanges = computed(() => [...changes.value.values()].some(({ status }) => status !== "same"))
