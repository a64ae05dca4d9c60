import type { JsonValue } from "../base/json-value.ts"
import { memoryOf } from "../base/memory-of.ts"
import { placeKey } from "../log/replay-state.ts"
import type { AskNode, WaitNode } from "../plan/plan-shape.ts"
import { loopVariables } from "./context/loop-items.ts"
import { keepValue, outerScope, type RunContext } from "./context/run-context.ts"
import { shown } from "./log/log.ts"
import { workflowEffects } from "./tools/workflow-effects.ts"
import { decide } from "./values/condition.ts"
import type { Effects } from "./values/evaluate-effects.ts"
import type { Scope } from "./values/scope.ts"

// Steps that wait, for people or for times and events, have one place for each item of their list, or one. Each place asks or waits by itself.

/** `iteration`: null for a step without a list. */
export interface StepPlace {
  readonly key: string
  readonly iteration: number | null
  readonly scope: Scope
  readonly effects: Effects
  /** The scope of one of its properties. */
  readonly at: (part: string) => Scope
}

/** The place of an item; or its value, where an earlier run gave it, or null where it was skipped. `known`: whether it has begun before a restart. */
export async function openPlace(
  running: RunContext,
  node: AskNode | WaitNode,
  iteration: number | null,
  item: JsonValue,
  known: (key: string) => boolean,
): Promise<StepPlace | { readonly value: JsonValue }> {
  const { past, log } = running
  const key = placeKey(node.id, iteration)
  if (past.skipped.has(key)) return { value: null }
  const variables =
    node.loop === null || iteration === null
      ? new Map<string, JsonValue>()
      : loopVariables(running, node, node.loop, item, iteration)
  const scope: Scope = { ...outerScope(running, node.id), variables, iteration }
  const about = iteration === null ? { dynamic: node.id } : { dynamic: node.id, iteration }
  const effects = workflowEffects(running, node.id, about)
  const at = (part: string): Scope => ({ ...scope, path: `${node.id}.${part}` })
  const taken = past.reusedAnswers.get(key)
  if (taken !== undefined) return { value: taken.output }
  const isWanted = async (): Promise<boolean> =>
    node.when === null || decide(node.when, at("when"), workflowEffects(running, `${node.id}.when`, about))
  if (known(key) || (await isWanted())) return { key, iteration, scope, effects, at }
  log.add("step_skipped", { step: node.id, ...(iteration === null ? {} : { iteration }) })
  return { value: null }
}

/** What the same place gave in an earlier run. */
export function reusedValue(
  { earlier, log }: RunContext,
  step: string,
  iteration: number | null,
  facts: string,
): { readonly value: JsonValue } | null {
  const found = earlier?.takeStep(step, iteration, facts, false)
  if (earlier === null || found === undefined) return null
  const { output, given } = found
  const asShown = shown(output)
  log.add(
    "step_reused",
    {
      step,
      ...(iteration === null ? {} : { iteration }),
      output: asShown,
      run_id: earlier.run_id,
      ...(given === true && { given }),
    },
    asShown === output ? { facts } : { facts, output },
  )
  return { value: output }
}

/** A value that somebody outside gave: the run pays for it, and keeps it. */
export function receiveValue(running: RunContext, step: string, value: JsonValue): JsonValue {
  const bytes = memoryOf(value)
  running.work.received(bytes)
  keepValue(running, bytes, step)
  return value
}
