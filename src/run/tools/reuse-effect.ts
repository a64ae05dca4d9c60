import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { remembered } from "../../base/remembered.ts"
import type { RemotePlan, ToolPlan } from "../../plan/plan-shape.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import type { Type } from "../../types/types.ts"
import { effectFacts, type EffectPlace } from "../../log/earlier-run.ts"
import type { EffectReplayData } from "../../log/replay-data.ts"
import { placeKey, type EffectReplayState } from "../../log/replay-state.ts"
import { shown } from "../log/log.ts"
import { shownPrompt } from "../log/shown-messages.ts"
import type { RunContext } from "../context/run-context.ts"
import { adoptFiles } from "../context/adopt-files.ts"
import { argumentsByContent } from "./sent-files.ts"
import { namedServer } from "./server-of.ts"

/** A call, read or render of the workflow's own that is about to be made. */
export interface EffectAt extends EffectPlace {
  /** `tool.name`, `resource.name` or `prompt.name`. */
  readonly step: string
  /** Where it is made from: `dynamic.related`. */
  readonly path: string
  readonly facts: string
}

/**
 * The hash of what decides an effect: its name, its server, its arguments with secrets by name, and the type that a tool's
 * result is read as.
 */
export function factsOfEffect(
  running: RunContext,
  remote: RemotePlan | ToolPlan | undefined,
  values: JsonObject,
): string {
  const server = remote === undefined ? null : namedServer(running, remote)
  const output = remote !== undefined && "output" in remote ? declaredOutput(running, remote) : null
  return effectFacts([remote?.remote ?? null, server, argumentsByContent(values), ...(output === null ? [] : [output])])
}

// Plans are kept by their source and run again and again.
const outputs = new WeakMap<ToolPlan, JsonObject>()

/** The JSON Schema of the result that a workflow declares: its fields are all that is read. Null where it declares none. */
export function declaredOutput({ plan }: RunContext, tool: ToolPlan): JsonObject | null {
  const { output } = tool
  return output === null ? null : remembered(outputs, tool, () => toJsonSchema(output, plan.types))
}

/** The place of an effect, as the log has it. */
export function effectKey({ site, iteration, items }: EffectPlace): string {
  return placeKey(site, iteration, items)
}

/** What the log knows of a call site. */
export function replayedEffect({ past }: RunContext, place: EffectPlace): EffectReplayState | undefined {
  return past.effects.size === 0 ? undefined : past.effects.get(effectKey(place))
}

/** How an event says where an effect is made. */
export function eventPlace({ site, iteration, items }: EffectPlace): {
  readonly site: string
  readonly iteration?: number
  readonly items?: readonly number[]
} {
  return {
    site,
    ...(iteration === null ? {} : { iteration }),
    ...(items.length === 0 ? {} : { items }),
  }
}

/** The outcome that an earlier run leaves to this effect, which is then not made; undefined where it must be. */
export async function reusedEffect(
  running: RunContext,
  at: EffectAt,
  type: Type | null = null,
): Promise<EffectReplayData | undefined> {
  const { step, path, site, facts } = at
  const { earlier, log } = running
  if (earlier === null) return undefined
  const found = earlier.takeEffect(step, path, at, facts)
  if (found === undefined) return undefined
  const outcome = await withFiles(running, step, found.outcome, type)
  if (outcome === undefined) return undefined
  const output: JsonValue =
    outcome.kind === "render" ? outcome.messages.map(({ text }) => text).join("\n\n") : outcome.value
  const messages = outcome.kind === "render" ? { messages: shownPrompt(outcome.messages) } : {}
  const data = { step, ...eventPlace(at), output: shown(output), run_id: earlier.run_id, ...messages }
  log.add("step_reused", data, { facts, site, outcome })
  return outcome
}

/** The outcome, once the run refers to its files; undefined where one of them is gone. */
async function withFiles(
  running: RunContext,
  step: string,
  outcome: EffectReplayData,
  type: Type | null,
): Promise<EffectReplayData | undefined> {
  if (outcome.kind !== "call" || type === null) return outcome
  const adopting = adoptFiles(running, { step, type, value: outcome.value })
  const value = adopting === null ? outcome.value : await adopting
  return value === undefined ? undefined : { ...outcome, value }
}
