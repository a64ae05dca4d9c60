import type { JsonObject } from "../../base/json-value.ts"
import { timeHad, idleUntil, type ReplayState } from "../../log/replay-state.ts"
import { toMoney } from "../../log/money.ts"
import { changedInput, compareSteps } from "../../plan/compare-plans.ts"
import type { Limits, Plan } from "../../plan/plan-shape.ts"
import { limitsOfRun } from "../budget/limit-scopes.ts"
import { newSecretPlace } from "./secret-places.ts"
import type { StepState } from "./step-states.ts"

/** A run that waits, and the version that it is to move to. */
export interface MoveOf {
  readonly before: Plan
  readonly after: Plan
  /** As the run has it, and as it would be in the new version. */
  readonly input: { readonly before: JsonObject; readonly after: JsonObject }
  /** Names of secrets that the request has. */
  readonly secrets: readonly string[]
  readonly limits: Limits | null
  readonly past: ReplayState
  readonly states: ReadonlyMap<string, StepState>
  readonly now: number
}

/** What becomes of the steps of a run that moves. */
export interface Judgement {
  /** Why it cannot move; empty where it can. */
  readonly because: readonly string[]
  readonly reused: readonly string[]
  readonly outdated: readonly string[]
  /** Steps with open questions that have changed: what they would ask says whether the questions fit. */
  readonly changed: ReadonlyMap<string, string>
  /** Steps with open questions that are gone. */
  readonly gone: readonly string[]
}

/** What has no part in what a step gives. */
const silent: ReadonlySet<string> = new Set(["limits", "concurrency", "batch"])

/** Judges by the definitions alone. */
export function judgeMove(move: MoveOf): Judgement {
  const { before, after, past, states } = move
  const steps = compareSteps(before, after)
  const properties = new Map(steps.changed.map((one) => [one.step, one.properties]))
  const nodes = new Map(after.nodes.map((node) => [node.id, node]))
  const needed = neededSteps(after, states)
  const because: string[] = []
  const reused: string[] = []
  const outdated: string[] = []
  const changed = new Map<string, string>()
  const gone: string[] = []

  const whyOther = (id: string, counts: (property: string) => boolean): string | null => {
    const node = nodes.get(id)
    if (node === undefined) return "is gone"
    if (past.outdated.has(id)) return "completed in an earlier version, where it was another one"
    const differ = (properties.get(id) ?? []).filter(counts)
    if (differ.length > 0) return `changed (${differ.join(", ")})`
    const field = changedInput(node, move.input)
    return field === null ? null : `depends on ${field === "" ? "the input" : `input.${field}`}, which is another one`
  }
  for (const [id, state] of states) {
    if (state === "ahead") continue
    const why = whyOther(id, (property) => state !== "completed" || !silent.has(property))
    if (state === "completed") {
      if (why === null) reused.push(id)
      else if (needed.has(id)) because.push(`${id} has completed, and ${why}`)
      else outdated.push(id)
    } else if (why !== null && state === "begun") because.push(`${id} has begun, and ${why}`)
    else if (why !== null && hasAnswers(past, id)) because.push(`${id} has answers, and ${why}`)
    else if (why !== null && nodes.has(id)) changed.set(id, why)
    else if (why !== null) gone.push(id)
  }
  for (const id of past.outdated) {
    if (states.has(id)) continue
    // It is gone since an earlier move. A new one of its name would be given what it gave.
    if (nodes.has(id)) because.push(`${id} completed in an earlier version, where it was another one`)
    else outdated.push(id)
  }
  const place = newSecretPlace(before, after, move.secrets)
  if (place !== null) because.push(`secrets.${place.secret} would get to ${place.place}, which it could not reach`)
  because.push(...exceeded(move))
  return { because, reused, outdated, changed, gone }
}

/** Steps that something depends on which has not completed; the output never has. */
function neededSteps({ nodes }: Plan, states: ReadonlyMap<string, StepState>): ReadonlySet<string> {
  const needed = new Set<string>()
  for (const { id, depends_on } of nodes.toReversed()) {
    if (states.get(id) === "completed" && !needed.has(id)) continue
    for (const one of depends_on) needed.add(one)
  }
  return needed
}

function hasAnswers({ asks, reusedAnswers }: ReplayState, id: string): boolean {
  const isOf = (place: string): boolean => place === id || place.startsWith(`${id}#`)
  return (
    [...asks].some(([place, { outcome }]) => isOf(place) && outcome !== null) ||
    [...reusedAnswers.keys()].some((place) => isOf(place))
  )
}

function exceeded({ after, limits, past, now }: MoveOf): string[] {
  const { run } = limitsOfRun(after, limits)
  const { tokens, cost, model_calls, tool_calls } = past.used.run
  const startedAt = past.startedAt ?? now
  const spent: Readonly<Record<keyof typeof run, boolean>> = {
    cost: run.cost !== undefined && cost > toMoney(run.cost.most),
    tokens: run.tokens !== undefined && tokens > run.tokens.most,
    model_calls: run.model_calls !== undefined && model_calls > run.model_calls.most,
    tool_calls: run.tool_calls !== undefined && tool_calls > run.tool_calls.most,
    time_seconds:
      run.time_seconds !== undefined && timeHad(idleUntil(past, now), startedAt, now) > run.time_seconds.most * 1000,
  }
  return Object.entries(run).flatMap(([key, limit]) =>
    spent[key as keyof typeof run] ? [`it has used more than ${limit.path} allows`] : [],
  )
}
