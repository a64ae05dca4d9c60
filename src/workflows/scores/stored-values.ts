import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { placeKey, placeOf, type ReplayState } from "../../log/replay-state.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { Usage } from "../../log/events.ts"
import { runValues } from "../../run/context/run-values.ts"
import { EvaluationWork } from "../../run/values/evaluation-work.ts"
import { emptyScope, type Scope } from "../../run/values/scope.ts"

/** How a run ended. */
export interface RunEnd {
  readonly output: JsonObject
  readonly usage: Usage
  readonly duration_ms: number
}

/** What the expressions of a score see of a run that has completed: its input, what its log says of its steps, and its output. */
export function storedValues(plan: Plan, run_id: string, input: JsonObject, past: ReplayState, end: RunEnd): Scope {
  const agents = new Map<string, JsonValue>()
  const rounds = new Map<string, JsonValue>()
  const answers = new Map<string, JsonValue>()
  const waited = new Map<string, JsonValue>()
  for (const node of plan.nodes) {
    const { name, id } = node
    if (node.kind === "agent") {
      const one = (iteration: number | null): JsonValue =>
        past.agents.get(placeKey(name, iteration))?.completed?.output ?? null
      const all = valuesIn(past, [past.agents.keys()], name, id, one)
      if (node.repeat !== undefined) rounds.set(name, all)
      const last = past.skipped.has(id) ? null : (all.at(-1) ?? null)
      agents.set(name, node.repeat !== undefined ? last : node.loop !== null ? all : one(null))
    } else if (node.kind === "ask") {
      const one = (iteration: number | null): JsonValue => {
        const key = placeKey(id, iteration)
        const outcome = past.asks.get(key)?.outcome
        return outcome?.kind === "answered" ? outcome.answer : (past.reusedAnswers.get(key)?.output ?? null)
      }
      const keys = [past.asks.keys(), past.reusedAnswers.keys()]
      answers.set(name, node.loop === null ? one(null) : valuesIn(past, keys, id, id, one))
    } else if (node.kind === "wait") {
      const one = (iteration: number | null): JsonValue => {
        const key = placeKey(id, iteration)
        return past.waitSteps.get(key)?.outcome?.output ?? past.reusedAnswers.get(key)?.output ?? null
      }
      const keys = [past.waitSteps.keys(), past.reusedAnswers.keys()]
      waited.set(name, node.loop === null ? one(null) : valuesIn(past, keys, id, id, one))
    }
  }
  return {
    ...emptyScope,
    path: "score",
    input,
    run: runValues({ id: run_id, started_at: past.startedAt ?? 0 }),
    agents,
    rounds,
    answers,
    waited,
    variables: new Map<string, JsonValue>([
      ["output", end.output],
      ["usage", { ...end.usage }],
      ["duration_ms", end.duration_ms],
    ]),
    functions: plan,
    work: new EvaluationWork(),
  }
}

/** Of all items of a loop that the log knows of. */
function valuesIn(
  past: ReplayState,
  keys: readonly Iterable<string>[],
  name: string,
  id: string,
  one: (iteration: number) => JsonValue,
): JsonValue[] {
  let count = 0
  const see = (key: string, wanted: string): void => {
    const place = placeOf(key)
    if (place.name === wanted && place.position.startsWith("#")) {
      count = Math.max(count, Number(place.position.slice(1)) + 1)
    }
  }
  for (const all of keys) for (const key of all) see(key, name)
  for (const key of past.skipped.keys()) see(key, id)
  return Array.from({ length: count }, (_, iteration) => one(iteration))
}
