import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { RunState, Span } from "../log/run-state.ts"
import { messagesOf } from "./known-values.ts"
import { nodeOfSpan, spanLabel } from "../log/span-names.ts"
import type { Origin } from "./origin.ts"

/** A text that a run took in or made. */
export interface KnownText {
  readonly text: string
  readonly origin: Origin
  /** When it was there: 0 for the input. */
  readonly at: number
  /** Position of the span that has it. */
  readonly span?: number
}

const maxTexts = 5_000
/** Fewer characters stand anywhere by chance. */
const fewest = 3

/** Every text of a run's input, outputs, answers of people, and what tools, resources and prompts gave. */
export function knownTexts(input: JsonObject, state: RunState): readonly KnownText[] {
  const texts: KnownText[] = []
  const add = (value: JsonValue | undefined, path: string, base: Omit<KnownText, "text">): void => {
    if (value === undefined || value === null || texts.length >= maxTexts) return
    if (typeof value === "object") {
      const isList = Array.isArray(value)
      for (const [key, one] of Object.entries(value)) add(one, isList ? `${path}[${key}]` : `${path}.${key}`, base)
      return
    }
    const text = String(value)
    if (text.length >= fewest) texts.push({ ...base, text, origin: { ...base.origin, label: path } })
  }
  add(input, "input", { origin: { kind: "input", label: "" }, at: 0 })
  state.spans.forEach((span, at) => {
    const node = nodeOfSpan(state, at)
    const base = (kind: Origin["kind"]): Omit<KnownText, "text"> => ({
      origin: { kind, label: "", ...(node !== undefined && { node }) },
      at: span.end ?? span.start,
      span: at,
    })
    if (span.kind === "agent" || span.kind === "iteration") add(span.output, spanLabel(span), base("step"))
    if (gives.has(span.kind)) add(span.result, `result of ${spanLabel(span)}`, base("tool"))
    for (const { text } of messagesOf(span) ?? []) {
      if (span.kind === "prompt") add(text, spanLabel(span), base("tool"))
    }
  })
  for (const { name, iteration, answer, answered_at } of state.questions) {
    const label = `ask.${name}${iteration === undefined ? "" : `[${iteration}]`}`
    const at = answered_at === undefined ? 0 : Date.parse(answered_at)
    add(answer, label, { origin: { kind: "person", label, node: `ask.${name}` }, at })
  }
  return texts
}

const gives: ReadonlySet<Span["kind"]> = new Set(["tool_call", "resource", "workflow_call"])
