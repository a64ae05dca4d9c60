import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { RunState, Span } from "../log/run-state.ts"
import { nodeOfSpan, spanLabel } from "../log/span-names.ts"
import { KnownValues } from "./known-values.ts"
import type { Origin, Piece } from "./origin.ts"
import { originOf } from "./origin.ts"
import type { TracedProgram } from "./template.ts"
import { traceTemplate } from "./template.ts"

/** Finds the pieces of a text that a model was sent; null for one that the service wrote, or whose origin is not known. */
export type TraceText = (text: string) => readonly Piece[] | null

/** The tracer of the texts of one model call; `at` is the position of its span. */
export function requestTracer(traced: TracedProgram, input: JsonObject, state: RunState, at: number): TraceText {
  const step = stepOf(state, at)
  const whole = new Map<string, Origin>()
  const add = (text: string, origin: Origin): void => {
    if (text.length > 1 && !whole.has(text)) whole.set(text, origin)
  }
  for (const [name, { description }] of Object.entries(traced.plan.tools)) {
    if (description !== null) add(description, { kind: "source", label: `description of tool.${name}` })
  }
  state.spans.forEach((span, position) => {
    const node = nodeOfSpan(state, position)
    for (const [value, kind] of valuesOf(span)) {
      const origin: Origin = { kind, label: spanLabel(span), ...(node !== undefined && { node }), isGuess: true }
      for (const text of formsOf(value)) add(text, origin)
    }
  })
  for (const [text, origin] of saidBefore(traced, input, state, step)) add(text, origin)
  return (text) => {
    const place = step === undefined ? undefined : placeOf(traced, step)
    const pieces =
      place === undefined
        ? null
        : text === step?.instruction
          ? traceTemplate(traced, input, state, place, "instruction", text)
          : traceTemplate(traced, input, state, place, "system", text)
    if (pieces !== null && pieces.length > 0) return pieces
    const origin = whole.get(text)
    return origin === undefined ? null : [{ text, origin }]
  }
}

/** The messages that came before an instruction, each with its place in the list. */
function* saidBefore(
  traced: TracedProgram,
  input: JsonObject,
  state: RunState,
  step: Span | undefined,
): Generator<[string, Origin]> {
  const place = step === undefined ? undefined : placeOf(traced, step)
  const messages = place?.node.messages
  if (place === undefined || messages === undefined) return
  const said = new KnownValues(traced.plan, input, state).of(messages, place)
  const origin = originOf(messages, place)
  for (const [at, message] of Array.isArray(said) ? said.entries() : []) {
    const content = isJsonObject(message) ? message["content"] : undefined
    if (typeof content === "string") yield [content, { ...origin, label: `${origin.label}[${at}].content` }]
  }
}

/** The pieces of the rendered instruction of a step; null where they are not known. */
export function traceInstruction(
  traced: TracedProgram,
  input: JsonObject,
  state: RunState,
  span: Span,
): readonly Piece[] | null {
  const place = placeOf(traced, span)
  if (place === undefined || span.instruction === undefined) return null
  return traceTemplate(traced, input, state, place, "instruction", span.instruction)
}

function placeOf({ plan }: TracedProgram, { name, iteration }: Span): Parameters<typeof traceTemplate>[3] | undefined {
  const node = plan.nodes.find(({ id }) => id === `agent.${name}`)
  return node?.kind === "agent" ? { node, iteration } : undefined
}

function stepOf({ spans }: RunState, at: number): Span | undefined {
  const parent = spans[at]?.parent ?? null
  return parent === null ? undefined : spans[parent]
}

function valuesOf(span: Span): [JsonValue, Origin["kind"]][] {
  const isStep = span.kind === "agent" || span.kind === "iteration"
  if (isStep) return span.output === undefined ? [] : [[span.output, "step"]]
  return span.result === undefined ? [] : [[span.result, "tool"]]
}

/** How a value may stand in a request: as its text, or as JSON. */
function formsOf(value: JsonValue): string[] {
  return typeof value === "string" ? [value] : [JSON.stringify(value)]
}
