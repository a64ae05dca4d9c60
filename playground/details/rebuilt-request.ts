import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import type { Expression } from "../../src/plan/expression.ts"
import type { AgentNode, Plan } from "../../src/plan/plan-shape.ts"
import { mergedInference } from "../../src/plan/prepare.ts"
import type { Rejection, ShownMessage, WireError } from "../../src/log/events.ts"
import type { RunState, Span } from "../../src/log/run-state.ts"
import type { Place } from "../../src/origins/known-values.ts"
import { KnownValues, messagesOf } from "../../src/origins/known-values.ts"
import { toJsonSchema } from "../../src/types/json-schema.ts"

// A run's events hold what went in and out of each step, not the requests themselves. What a model was asked follows from
// them and from the workflow's source; what does not follow is named in `missing`.

export interface RebuiltMessage {
  readonly role: "user" | "assistant" | "tool"
  /** `instruction`, `agent.narrow`, `summary of agent.narrow`, `tool.find`. */
  readonly of: string
  readonly content: JsonValue
}

export interface RebuiltTool {
  readonly name: string
  readonly description: string | null
  /** Null: the server describes its arguments. */
  readonly parameters: JsonObject | null
}

export interface RebuiltRequest {
  readonly system: string | null
  /** The system text is shown as the author wrote it: the values in it are not known here. */
  readonly isSystemWritten: boolean
  readonly messages: readonly RebuiltMessage[]
  readonly tools: readonly RebuiltTool[]
  readonly schema: JsonObject | null
  /** Temperature and the like. */
  readonly settings: JsonObject
  readonly missing: readonly string[]
}

/** What the model was asked in a call; `at` is the position of the call's span. */
export function rebuildRequest(
  plan: Plan | null,
  input: JsonObject,
  state: RunState,
  at: number,
): RebuiltRequest | null {
  const call = state.spans[at]
  const step = call?.parent ?? null
  if (call?.kind !== "model_call" || step === null) return null
  const missing: string[] = []
  const node = agentOf(plan, call.name)
  const known = new KnownValues(plan, input, state)
  const messages = [...conversation(plan, known, state, step, call.start, missing), ...addedBefore(state, at, missing)]
  if (plan === null || node === null) {
    missing.push("system text, tools, schema and settings, because the source of this run is not known here")
    return { system: null, isSystemWritten: false, messages, tools: [], schema: null, settings: {}, missing }
  }
  const model = call.call?.model ?? node.models[0].name
  const use = node.models.find(({ name }) => name === model) ?? node.models[0]
  const system = node.system ?? plan.models[model]?.system ?? null
  const spoken = system === null ? null : known.of(system, { node, iteration: call.iteration })
  return {
    system: system === null ? null : typeof spoken === "string" ? spoken : asWritten(system),
    isSystemWritten: system !== null && typeof spoken !== "string",
    messages,
    tools: describedTools(state, node) ?? toolsOf(plan, node),
    schema: toJsonSchema(node.output, plan.types),
    settings: { ...mergedInference(plan, model, use.inference) } as JsonObject,
    missing,
  }
}

/**
 * What the model answered in a call: its tool calls, the step's output, or a text that was rejected. Undefined where it is not
 * known.
 */
export function rebuildAnswer(state: RunState, at: number): JsonValue | undefined {
  const { spans } = state
  const call = spans[at]
  const step = call?.parent ?? null
  if (call === undefined || step === null) return undefined
  const next = nextCall(spans, at)
  if (call.state !== "completed") {
    const again = retryAfter(state, at)
    if (again === undefined) return next === undefined ? spans[step]?.answer : undefined
    return again.answer ?? messagesOf(again)?.find(({ role }) => role === "assistant")?.text
  }
  const called = toolCalls(spans, step, next?.start).filter((tool) => tool.start >= call.start)
  if (called.length > 0) return called.map(asCall)
  return next === undefined ? spans[step]?.output : undefined
}

/** Why a call had to be made again: the retry or the fallback that followed it. */
export function reasonAfter(state: RunState, at: number): string | undefined {
  const again = retryAfter(state, at)
  return again?.reason ?? again?.error?.message
}

/** The requirements that sent the answer of a call back, where they did. */
export function rejectionsAfter(state: RunState, at: number): readonly Rejection[] | undefined {
  return retryAfter(state, at)?.requirements
}

/** The error of the step, where this was its last call. */
export function errorAfter({ spans }: RunState, at: number): WireError | undefined {
  const call = spans[at]
  const step = call?.parent ?? null
  if (call === undefined || step === null || call.state !== "failed") return undefined
  return nextCall(spans, at) === undefined ? spans[step]?.error : undefined
}

/** Calls of one step are added together, in the order in which they were made. */
function nextCall(spans: readonly Span[], at: number): Span | undefined {
  const { parent } = spans[at] ?? {}
  return spans.find((span, position) => position > at && span.parent === parent && span.kind === "model_call")
}

/** The retry or the fallback that followed a call. */
function retryAfter({ spans }: RunState, at: number): Span | undefined {
  const { parent, start = 0, call } = spans[at] ?? {}
  const next = nextCall(spans, at)
  if (next === undefined || next.call?.turn !== call?.turn) return undefined
  return spans.find(
    (span) =>
      span.parent === parent &&
      span.start >= start &&
      span.start <= next.start &&
      (span.kind === "retry" ? span.attempt === next.call?.attempt : span.kind === "fallback"),
  )
}

const misfit = "The output does not fit"

/** What was added to the conversation because earlier answers of the same turn could not be used. */
function addedBefore(state: RunState, at: number, missing: string[]): RebuiltMessage[] {
  const { spans } = state
  const own = spans[at]
  let added: readonly ShownMessage[] = []
  let isKnown = true
  for (const [position, { parent, kind, call }] of spans.entries()) {
    if (position >= at || parent !== own?.parent || kind !== "model_call") continue
    if (call?.turn !== own?.call?.turn || call?.model !== own?.call?.model) continue
    const again = retryAfter(state, position)
    if (again?.messages !== undefined) {
      added = messagesOf(again) ?? []
      isKnown = messagesOf(again) !== undefined
    } else if (again === undefined ? call?.format !== undefined : again.reason?.startsWith(misfit) === true) {
      // No event says what followed the answer: a closing call after tools, or a log of an older release.
      isKnown = false
    }
  }
  if (!isKnown) missing.push("the answer that could not be used, and what the model was asked to do about it")
  return added.map(({ role, text }) => ({
    role,
    of: role === "user" ? "what is wrong with it" : "rejected answer",
    content: text,
  }))
}

function agentOf(plan: Plan | null, name: string): AgentNode | null {
  const node = plan?.nodes.find(({ id }) => id === `agent.${name}`)
  return node?.kind === "agent" ? node : null
}

/** What had been said in a step before this time. */
function conversation(
  plan: Plan | null,
  known: KnownValues,
  state: RunState,
  step: number,
  before: number | undefined,
  missing: string[],
): RebuiltMessage[] {
  const { spans } = state
  const span = spans[step]
  if (span === undefined) return []
  const node = agentOf(plan, span.name)
  const messages: RebuiltMessage[] = node === null ? [] : contextOf(plan, known, state, node, missing)
  for (const use of node?.uses ?? []) {
    if (use.kind !== "prompt") continue
    const of = `prompt.${use.name}`
    const rendered = known.messages(use.site, span.iteration)
    if (rendered === undefined) missing.push(`the messages of ${of}`)
    for (const { role, text, images } of rendered ?? []) {
      messages.push({ role, of, content: images === undefined ? text : { text, images: [...images] } })
    }
  }
  if (span.instruction === undefined) missing.push(`the instruction of agent.${span.name}`)
  else messages.push({ role: "user", of: "instruction", content: span.instruction })
  if (node !== null) messages.push(...filesOf(known, { node, iteration: span.iteration }, missing))
  // Calls of one turn come together, then their results.
  const turns = spans.filter((one) => one.parent === step && one.kind === "model_call").map(({ start }) => start)
  const turnOf = (tool: Span): number => turns.filter((start) => start <= tool.start).length
  for (const turn of Object.values(Object.groupBy(toolCalls(spans, step, before), turnOf))) {
    for (const tool of turn ?? [])
      messages.push({ role: "assistant", of: `call of tool.${tool.name}`, content: asCall(tool) })
    for (const tool of turn ?? []) {
      messages.push({ role: "tool", of: `tool.${tool.name}`, content: tool.result ?? tool.error?.message ?? null })
    }
  }
  return messages
}

/** The files that go with the instruction. */
function filesOf(known: KnownValues, place: Place, missing: string[]): RebuiltMessage[] {
  return place.node.files.flatMap(({ name, stem, content }) => {
    const given = name === null ? undefined : known.of(name, place)
    const title = `file ${typeof given === "string" ? given : (stem ?? "")}`.trim()
    const value = known.of(content, place)
    if (value !== undefined) return [{ role: "user" as const, of: title, content: value }]
    missing.push(`the content of the ${title}`)
    return []
  })
}

/** What an agent goes on from. */
function contextOf(
  plan: Plan | null,
  known: KnownValues,
  state: RunState,
  node: AgentNode,
  missing: string[],
): RebuiltMessage[] {
  const { context } = node
  if (context === null) return []
  const of = `agent.${context.agent}`
  if (context.compact !== null) {
    const made = state.spans.find(
      ({ kind, name, parent }) =>
        kind === "compaction" && name === context.agent && parent !== null && state.spans[parent]?.name === node.name,
    )
    if (typeof made?.result === "string") return [{ role: "user", of: `summary of ${of}`, content: made.result }]
    missing.push(`the summary of ${of}`)
    return []
  }
  const step = state.spans.findIndex(
    ({ kind, name, parent }) => kind === "agent" && name === context.agent && parent === null,
  )
  const span = state.spans[step]
  if (span === undefined) {
    missing.push(`the messages of ${of}`)
    return []
  }
  const earlier = conversation(plan, known, state, step, undefined, missing).map((message) => ({
    ...message,
    of: message.of === "instruction" ? of : message.of,
  }))
  return span.output === undefined ? earlier : [...earlier, { role: "assistant", of, content: span.output }]
}

function toolCalls(spans: readonly Span[], step: number, before: number | undefined): Span[] {
  return spans.filter(
    ({ parent, kind, start, site }) =>
      parent === step && kind === "tool_call" && site === undefined && (before === undefined || start < before),
  )
}

function asCall({ name, arguments: given }: Span): JsonObject {
  return { tool: name, arguments: given ?? null }
}

/** The tools as the model knows them. */
function describedTools({ nodes }: RunState, { id }: AgentNode): readonly RebuiltTool[] | undefined {
  const described = nodes.find((node) => node.id === id)?.tools
  return Array.isArray(described) ? (described as unknown as readonly RebuiltTool[]) : undefined
}

/** The same as the source declares them. */
function toolsOf(plan: Plan, { uses }: AgentNode): RebuiltTool[] {
  return uses.flatMap(({ kind, name }) => {
    const tool = kind === "tool" ? plan.tools[name] : undefined
    if (tool === undefined) return []
    const parameters = tool.input === null ? null : toJsonSchema(tool.input, plan.types)
    return [{ name, description: tool.description, parameters }]
  })
}

/** A text with its interpolations as the author wrote them. */
function asWritten(expression: Expression): string {
  if (expression.op === "literal")
    return typeof expression.value === "string" ? expression.value : JSON.stringify(expression.value)
  if (expression.op === "text")
    return expression.parts.map((part) => (typeof part === "string" ? part : `{{ ${written(part)} }}`)).join("")
  return `{{ ${written(expression)} }}`
}

function written(expression: Expression): string {
  return "text" in expression && typeof expression.text === "string" ? expression.text : "…"
}
