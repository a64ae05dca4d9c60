import type { StartedWait, Usage } from "../../src/log/events.ts"
import type { NodeState, Span } from "../../src/log/run-state.ts"
import { retriesOf } from "../shown-run/step-state.ts"
import { watchShown } from "../shown-run/shown-run.ts"
import { costNumber, showMoment, showNumber } from "../ui/show.ts"

/** The figures of a span: its model, its calls, its tokens and cost. */
export function Facts({ span, node }: { readonly span: Span; readonly node: NodeState | undefined }) {
  watchShown()
  const usage = span.usage ?? (span.kind === "loop" ? node?.usage : undefined)
  const isStep = span.kind === "agent" || span.kind === "loop"
  const facts: [string, string][] = []
  if (isStep && node?.model !== undefined && node.model !== null) facts.push(["Model", node.model])
  if (span.from !== undefined) facts.push(["Failed", `model.${span.from}`])
  // While it waits, these are in a part of their own.
  if (span.awaited !== undefined && span.end !== null) facts.push(...awaitedFacts(span.awaited))
  const { http } = span
  if (span.server !== undefined) facts.push(["Server", `${http === undefined ? "mcp" : "api"}.${span.server}`])
  if (http !== undefined) facts.push(["Method", http.method], ["Status", String(http.status)])
  if (span.call !== undefined) {
    if (span.call.model !== undefined) facts.push(["Model", `model.${span.call.model}`])
    if (span.call.id !== undefined) facts.push(["Id", span.call.id])
    if (span.call.provider !== undefined) facts.push(["Provider", span.call.provider])
    facts.push(["Turn", String(span.call.turn)], ["Attempt", String(span.call.attempt)])
    if (span.call.format !== undefined) facts.push(["Output format", span.call.format])
  }
  if (isStep && node !== undefined && node.tool_calls > 0) facts.push(["Tool calls", showNumber(node.tool_calls)])
  const retries = isStep && node !== undefined ? retriesOf(node) : 0
  if (retries > 0) facts.push(["Retries", showNumber(retries)])
  if (span.call?.cut_off === true) facts.push(["Usage", "unknown: the end of the run cut the call off"])
  if (span.summary !== undefined) facts.push(["Asked and found", span.summary])
  if (usage !== undefined) facts.push(...usageFacts(usage))
  if (facts.length === 0) return null
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function awaitedFacts({ until, event, key = "", expires_at }: StartedWait): [string, string][] {
  if (event === undefined) return until === undefined ? [] : [["Until", showMoment(Date.parse(until))]]
  const keyFact: [string, string][] = key === "" ? [] : [["Key", key]]
  const end: [string, string][] = expires_at === undefined ? [] : [["Expires", showMoment(Date.parse(expires_at))]]
  return [["Event", event], ...keyFact, ...end]
}

function usageFacts(usage: Usage): [string, string][] {
  const rows: [string, number][] = [
    ["Tokens in", usage.input_tokens],
    ["Tokens out", usage.output_tokens],
    ["of them cached", usage.cached_tokens],
    ["of them written to the cache", usage.written_tokens],
    ["of them reasoning", usage.reasoning_tokens],
  ]
  const uses = Object.entries(usage.hosted ?? {}).map(
    ([type, count]) => [`Uses of ${type}`, showNumber(count)] as [string, string],
  )
  const tokens = rows.filter(([, count], at) => at < 2 || count > 0)
  const shown = [...tokens.map(([name, count]): [string, string] => [name, showNumber(count)]), ...uses]
  return typeof usage.cost === "number" ? [...shown, ["Cost", costNumber(usage.cost)]] : shown
}
