import type { JsonValue } from "../../base/json-value.ts"
import type { EventData, ShownMessages } from "../events.ts"
import { siteKey, type NodeState, type RunState, type Span, type SpanKind } from "../run-state.ts"

export const agentKey = (agent: string, iteration: number | undefined): string => `agent ${agent} ${iteration ?? ""}`
export const loopKey = (agent: string): string => `loop ${agent}`
export const dynamicKey = (name: string, agent: string | undefined, iteration: number | undefined): string =>
  `dynamic ${agent ?? ""} ${name} ${iteration ?? ""}`
export const callKey = (id: string): string => `call ${id}`
export const waitKey = (id: string): string => `wait ${id}`
export const questionKey = (id: string): string => `question ${id}`

export function openSpan(state: RunState, key: string, span: Span): void {
  state.index.spans[key] = state.spans.length
  state.spans.push(span)
}

export function closeSpan(state: RunState, key: string, at: number, as: Span["state"]): Span | undefined {
  const position = state.index.spans[key]
  const span = position === undefined ? undefined : state.spans[position]
  if (span === undefined) return undefined
  span.end = at
  span.state = as
  // Agents are kept until the end of the run, as parents of late events; calls are done with.
  if (span.kind === "tool_call" || span.kind === "workflow_call" || span.kind === "ask" || span.kind === "wait")
    delete state.index.spans[key]
  return span
}

export function childOf(
  state: RunState,
  agent: string | undefined,
  iteration: number | undefined,
): Pick<Span, "parent" | "iteration"> {
  const { spans } = state.index
  const parent = agent === undefined ? undefined : (spans[agentKey(agent, iteration)] ?? spans[loopKey(agent)])
  return { parent: parent ?? null, ...(iteration === undefined ? {} : { iteration }) }
}

/** A value that calls a tool is known from its first call on. */
export function dynamicSpan(
  state: RunState,
  name: string,
  agent: string | undefined,
  iteration: number | undefined,
  at: number,
): number {
  const key = dynamicKey(name, agent, iteration)
  const known = state.index.spans[key]
  if (known !== undefined) return known
  const parents = childOf(state, agent, iteration)
  openSpan(state, key, { kind: "dynamic", name, ...parents, start: at, end: null, state: "running" })
  return state.spans.length - 1
}

/** Something that is reported when it is over. */
export function addEndedSpan(
  state: RunState,
  kind: SpanKind,
  name: string,
  agent: string | undefined,
  iteration: number | undefined,
  at: number,
  duration: number,
  more: Partial<Span>,
): void {
  const parents = childOf(state, agent, iteration)
  state.spans.push({ kind, name, ...parents, start: at - duration, end: at, state: "completed", ...more })
}

/** A step whose condition was false: it took no time. */
export function skippedSpan(
  state: RunState,
  { kind, name }: NodeState,
  iteration: number | undefined,
  at: number,
): void {
  if (kind === "output") return
  const skipped = { name, start: at, end: at, state: "skipped" as const }
  if (iteration === undefined) state.spans.push({ kind, parent: null, ...skipped })
  else state.spans.push({ kind: "iteration", parent: state.index.spans[loopKey(name)] ?? null, iteration, ...skipped })
}

/** The fields of a span for the outcome of a call, read or render in an expression. */
export function effectOf(
  {
    site,
    iteration,
    items,
  }: { readonly site?: string; readonly iteration?: number; readonly items?: readonly number[] },
  gave: { readonly result?: JsonValue | undefined; readonly messages?: ShownMessages | undefined },
): Partial<Span> {
  return {
    ...(site === undefined ? {} : { site: siteKey(site, iteration, items) }),
    ...(items === undefined ? {} : { items }),
    ...(gave.result === undefined ? {} : { result: gave.result }),
    ...(gave.messages === undefined ? {} : { messages: gave.messages }),
  }
}

/** A call, read or render in an expression that a re-run took over. */
export function reusedEffect(state: RunState, data: EventData["step_reused"], at: number): void {
  const { step, output, messages } = data
  const [kind, name = ""] = step.split(".")
  const more = { ...effectOf(data, messages === undefined ? { result: output } : { messages }), reused: true }
  const spanKind = kind === "tool" ? "tool_call" : kind === "prompt" ? "prompt" : "resource"
  addEndedSpan(state, spanKind, name, undefined, undefined, at, 0, more)
}

export function reusedSpan(
  state: RunState,
  { kind, name }: NodeState,
  { iteration, output, given }: Pick<EventData["step_reused"], "iteration" | "output" | "given">,
  at: number,
): void {
  if (kind === "output") return
  const taken = { name, start: at, end: at, state: "completed" as const, output, reused: true }
  const reused = given === undefined ? taken : { ...taken, given }
  if (iteration === undefined) state.spans.push({ kind, parent: null, ...reused })
  else state.spans.push({ kind: "iteration", parent: state.index.spans[loopKey(name)] ?? null, iteration, ...reused })
}
