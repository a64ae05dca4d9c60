import { withoutTrailing } from "../base/without-trailing.ts"
import type { RunState, Span } from "./run-state.ts"

/** The node of the plan that a span belongs to; undefined for what belongs to none (a server's connection). */
export function nodeOfSpan(state: RunState, at: number): string | undefined {
  let span = state.spans[at]
  while (span !== undefined && span.parent !== null) span = state.spans[span.parent]
  // What an expression called before its step began.
  const place = /^(?:(?:agent|dynamic|ask)\.[^./ ]+|output)/.exec(span?.site ?? "")
  if (place !== null) return place[0]
  if (span?.kind === "agent" || span?.kind === "loop" || span?.kind === "iteration") return `agent.${span.name}`
  if (span?.kind === "ask" && span.call_id === undefined) return `ask.${span.name}`
  return span?.kind === "dynamic" ? `dynamic.${span.name}` : undefined
}

/** The row in which a node of the plan begins. */
export function spanOfNode(state: RunState, node: string): number | undefined {
  const name = node.slice(node.indexOf(".") + 1)
  const kind = node.slice(0, node.indexOf("."))
  const at = state.spans.findIndex(
    (span) =>
      span.parent === null &&
      span.name === name &&
      span.call_id === undefined &&
      (span.kind === kind || (kind === "agent" && span.kind === "loop")),
  )
  return at < 0 ? undefined : at
}

/** `agent.review[0]`, `model call 2`, `tool.find`. */
export function spanLabel(span: Span): string {
  const index = span.iteration === undefined ? "" : `[${span.iteration}]`
  const items = (span.items ?? []).map((position) => `[${position}]`).join("")
  switch (span.kind) {
    case "agent":
      return `agent.${span.name}`
    case "loop":
      return `agent.${span.name}`
    case "iteration":
      return `agent.${span.name}${index}`
    case "model_call":
      return span.call === undefined || span.call.turn === 1 ? "model call" : `model call, turn ${span.call.turn}`
    case "retry":
      return `retry ${span.attempt ?? ""}`.trim()
    case "fallback":
      return `fallback to model.${span.name}`
    case "hosted_tool":
      return `hosted ${span.name}`
    case "tool_call":
      return `tool.${span.name}${items}`
    case "workflow_call":
      // The round of a repetition, or the number of a model's call.
      return `workflow.${span.name}${numbersAtEnd(span.scope ?? "")}`
    case "ask":
      if (span.call_id === undefined) return `ask.${span.name}${index}`
      return span.server === undefined ? `approval of tool.${span.name}${items}` : `question of mcp.${span.server}`
    case "wait":
      return `wait.${span.name}${index}`
    case "compaction":
      return `compacting agent.${span.name}`
    case "dynamic":
      return `dynamic.${span.name}${index}`
    case "resource":
      return `resource.${span.name}${items}`
    case "prompt":
      return `prompt.${span.name}${items}`
    case "connection":
      return `mcp.${span.name}`
  }
}

/** `[2]#1` of `triage@agent.plan[2]#1`. */
function numbersAtEnd(scope: string): string {
  const end = scope.slice(withoutTrailing(scope, "[]#0123456789").length)
  const first = end.search(/[[#]/)
  return first < 0 ? "" : end.slice(first)
}
