import type { StreamEvent } from "../../src/client/client.ts"
import type { RunState } from "../../src/log/run-state.ts"
import type { Selection } from "../shown-run/selection.ts"
import { nodeOfSpan } from "../../src/log/span-names.ts"

/** An event as it came over the wire. */
export function eventText({ id, type, data }: StreamEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n`
}

const searchable = new WeakMap<StreamEvent, string>()

/** Whether the event contains every word of the filter. */
export function matches(event: StreamEvent, words: readonly string[]): boolean {
  if (words.length === 0) return true
  let text = searchable.get(event)
  if (text === undefined) searchable.set(event, (text = eventText(event).toLowerCase()))
  return words.every((word) => text.includes(word))
}

export function filterWords(filter: string): string[] {
  return filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
}

/** The path of calls that leads to an event: `triage@dynamic.first`; undefined for one of the workflow itself. */
export function scopeOf({ data }: StreamEvent): string | undefined {
  const scope = (data as Record<string, unknown>)["scope"]
  return typeof scope === "string" ? scope : undefined
}

/** Whether an event happened in a call, or in a call further inside; the empty scope is the workflow itself. */
export function isWithin(event: StreamEvent, scope: string): boolean {
  const own = scopeOf(event)
  if (scope === "") return own === undefined || event.type.startsWith("workflow_call_")
  return own === scope || own?.startsWith(`${scope}/`) === true
}

/** Whom an event is about: `agent.review[2]`, `tool.find`. */
export function subjectOf({ data }: StreamEvent): string {
  const fields = data as Record<string, unknown>
  const iteration = typeof fields["iteration"] === "number" ? `[${fields["iteration"]}]` : ""
  const parts = [
    typeof fields["scope"] === "string" ? fields["scope"] : "",
    typeof fields["agent"] === "string" ? `agent.${fields["agent"]}${iteration}` : "",
    typeof fields["step"] === "string" ? `${fields["step"]}${iteration}` : "",
    typeof fields["dynamic"] === "string" ? `dynamic.${fields["dynamic"]}` : "",
    typeof fields["tool"] === "string" ? `tool.${fields["tool"]}` : "",
    typeof fields["server"] === "string" && fields["tool"] === undefined ? `mcp.${fields["server"]}` : "",
    typeof fields["name"] === "string" ? fields["name"] : "",
  ]
  return parts.filter((part) => part !== "").join(" · ")
}

/** The step that an event is about, and its bar where it has one of its own; null for events of the whole run. */
export function stepOf(event: StreamEvent, state: RunState): Selection | null {
  const scope = scopeOf(event)
  if (scope !== undefined) return callOf(scope, state)
  const { data } = event
  const { agent, step, dynamic, call_id, kind, name, iteration } = data as Record<string, unknown>
  const at = state.spans.findIndex((span) =>
    typeof call_id === "string"
      ? span.kind === "tool_call" && span.call_id === call_id
      : span.kind === "iteration" &&
        `agent.${span.name}` === (step ?? `agent.${String(agent)}`) &&
        span.iteration === iteration,
  )
  const own = at < 0 ? undefined : nodeOfSpan(state, at)
  if (own !== undefined) return { node: own, span: at }
  if (typeof step === "string") return { node: step }
  if (typeof agent === "string") return { node: `agent.${agent}` }
  if (typeof dynamic === "string") return { node: `dynamic.${dynamic}` }
  return kind === "ask" && typeof name === "string" ? { node: `ask.${name}` } : null
}

/** The bar of the call of a workflow that an event happened in. */
function callOf(scope: string, state: RunState): Selection | null {
  const at = state.spans.findIndex((span) => span.scope === scope || scope.startsWith(`${span.scope ?? ""}/`))
  const node = at < 0 ? undefined : nodeOfSpan(state, at)
  return node === undefined ? null : { node, span: at }
}
