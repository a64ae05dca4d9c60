import type { JsonValue } from "../base/json-value.ts"
import type { LimitKey, ShownLimits, ShownRunLimits } from "./budget/limit-scopes.ts"
import type { EventData, EventType, ModelCallRecord, Question, Usage, WireError } from "./events.ts"
import { addUsage, noUsage, usageOf } from "./usage.ts"
import { usageAfter } from "./usage-after.ts"

/**
 * An event as any of its readers has it: from the log, or from the stream, where the time is in the data alone. One of a
 * type that this release does not know changes nothing but the last id.
 */
export type SeenEvent = {
  [T in EventType]: { readonly id: number; readonly type: T; readonly data: EventData[T] & { readonly at?: string } }
}[EventType]

/** What a run's events add up to. Plain JSON; times are milliseconds since the epoch, durations milliseconds. */
export interface RunState {
  status: "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled"
  started_at: number | null
  finished_at: number | null
  duration_ms: number | null
  /** The workflow's result. */
  output: JsonValue
  error: WireError | null
  usage: Usage
  /** Of a run with limits: what is used of each. Calls count when their step has ended, and exactly at the end of the run. */
  limits: ShownRunLimits | null
  /** The earlier run that this one took results over from. */
  rerun_of?: string
  /** How often the run was taken up again after its process had died. */
  resumed: number
  last_event_id: number
  /** In an order in which they can run. */
  nodes: NodeState[]
  /** In the order in which they were reported; a parent comes before its children. */
  spans: Span[]
  /** In the order in which they were asked. */
  questions: Question[]
  /** Finds open nodes, spans and questions; of use to `reduce` alone. */
  index: { nodes: Record<string, number>; spans: Record<string, number>; questions: Record<string, number> }
}

/** `asking`: its question is open. */
export type Progress = "waiting" | "running" | "asking" | "completed" | "skipped" | "failed" | "cancelled"

export interface NodeState {
  readonly id: string
  readonly kind: "dynamic" | "agent" | "ask" | "output"
  readonly name: string
  readonly depends_on: readonly string[]
  /** The source text of its condition. */
  readonly when?: string
  state: Progress
  started_at: number | null
  finished_at: number | null
  duration_ms: number | null
  /** The backend's id. */
  model: string | null
  usage: Usage
  /** First tries, retries and repairs. */
  attempts: number
  /** How often another model of the list went on. */
  fallbacks: number
  tool_calls: number
  /** Every answer came from the cache. */
  cached: boolean
  /** How many of its steps a re-run took over from an earlier run. */
  reused?: number
  loop: { total: number; started: number; completed: number; skipped: number } | null
  error: WireError | null
}

export type SpanKind =
  | "agent"
  /** A question, from asking to its outcome. */
  | "ask"
  | "loop"
  | "iteration"
  | "model_call"
  | "retry"
  | "fallback"
  | "tool_call"
  | "compaction"
  | "dynamic"
  | "resource"
  | "prompt"
  | "connection"

/** A bar of the waterfall. */
export interface Span {
  readonly kind: SpanKind
  readonly name: string
  /** Position of the span that it is a part of. */
  readonly parent: number | null
  readonly iteration?: number
  start: number
  end: number | null
  state: Exclude<Progress, "waiting">
  usage?: Usage
  output?: JsonValue
  error?: WireError
  cached?: boolean
  /** Taken over from an earlier run. */
  reused?: boolean
  instruction?: string
  /** Of a model call. */
  call?: ModelCallRecord
  /** Of a fallback: the model that failed, by its declared name; the span's name is that of the next one. */
  from?: string
  /** Of a retry. */
  reason?: string
  attempt?: number
  /** Of a tool call. */
  server?: string
  call_id?: string
  arguments?: JsonValue
  result?: JsonValue
}

export function initialState(): RunState {
  return {
    status: "queued",
    started_at: null,
    finished_at: null,
    duration_ms: null,
    output: null,
    error: null,
    usage: noUsage,
    limits: null,
    resumed: 0,
    last_event_id: 0,
    nodes: [],
    spans: [],
    questions: [],
    index: { nodes: {}, spans: {}, questions: {} },
  }
}

/**
 * Takes one more event into the state, which it changes in place and returns: a run of ten thousand iterations costs the same
 * for each event. An event that the state has already taken in changes nothing.
 */
export function reduce(state: RunState, event: SeenEvent): RunState {
  if (event.id <= state.last_event_id) return state
  state.last_event_id = event.id
  if (state.status === "queued") state.status = "running"
  const at = event.data.at === undefined ? null : Date.parse(event.data.at)
  if (at !== null) state.started_at ??= at
  state.usage = usageAfter(state.usage, event)
  take(state, event, at ?? state.started_at ?? 0)
  if (state.limits !== null) countUse(state, event, at)
  return state
}

function take(state: RunState, event: SeenEvent, at: number): void {
  switch (event.type) {
    case "workflow_started":
      if (event.data.rerun_of !== undefined) state.rerun_of = event.data.rerun_of
      return
    case "workflow_planned":
      state.limits = event.data.limits ?? null
      for (const node of event.data.nodes) {
        state.index.nodes[node.id] = state.nodes.length
        state.nodes.push({
          ...node,
          state: "waiting",
          started_at: null,
          finished_at: null,
          duration_ms: null,
          model: null,
          usage: noUsage,
          attempts: 0,
          fallbacks: 0,
          tool_calls: 0,
          cached: false,
          loop: null,
          error: null,
        })
      }
      return
    case "agent_started": {
      const { agent, iteration, model, instruction } = event.data
      const node = startNode(state, `agent.${agent}`, at)
      if (node !== undefined) {
        node.model = model
        node.attempts++
        if (node.loop !== null) node.loop.started++
      }
      const parent = iteration === undefined ? null : (state.index.spans[loopKey(agent)] ?? null)
      open(state, agentKey(agent, iteration), {
        kind: iteration === undefined ? "agent" : "iteration",
        name: agent,
        parent,
        ...(iteration === undefined ? {} : { iteration }),
        start: at,
        end: null,
        state: "running",
        instruction,
      })
      return
    }
    case "agent_delta":
      return
    case "agent_retried": {
      const { agent, iteration, attempt, reason, delay_ms } = event.data
      const node = nodeOf(state, `agent.${agent}`)
      if (node !== undefined) node.attempts++
      state.spans.push({
        kind: "retry",
        name: agent,
        ...childOf(state, agent, iteration),
        start: at,
        end: at + delay_ms,
        state: "completed",
        attempt,
        reason,
      })
      return
    }
    case "model_call_started":
      return
    case "agent_fallback": {
      const { agent, iteration, from, to, error } = event.data
      const node = nodeOf(state, `agent.${agent}`)
      if (node !== undefined) node.fallbacks++
      const parents = childOf(state, agent, iteration)
      state.spans.push({ kind: "fallback", name: to, ...parents, start: at, end: at, state: "completed", from, error })
      return
    }
    case "agent_completed": {
      const { agent, iteration, output, cached, duration_ms, usage, calls } = event.data
      const span = close(state, agentKey(agent, iteration), at, "completed")
      if (span !== undefined) Object.assign(span, { output, cached, usage })
      modelCalls(state, agent, iteration, calls)
      const node = nodeOf(state, `agent.${agent}`)
      if (node === undefined) return
      node.usage = addUsage(node.usage, usage)
      if (node.loop === null) {
        node.cached = cached
        endNode(node, "completed", at, duration_ms)
      } else {
        node.cached = cached && (node.cached || node.loop.completed === 0)
        node.loop.completed++
      }
      return
    }
    case "agent_failed": {
      const { agent, iteration, error, duration_ms, calls } = event.data
      const span = close(state, agentKey(agent, iteration), at, "failed")
      if (span !== undefined) span.error = error
      modelCalls(state, agent, iteration, calls, "failed")
      const spent = usageOf(calls)
      const node = nodeOf(state, `agent.${agent}`)
      if (node === undefined) return
      node.usage = addUsage(node.usage, spent)
      node.error ??= error
      endNode(node, "failed", at, node.loop === null ? duration_ms : null)
      return
    }
    case "step_skipped": {
      const { step, iteration, error } = event.data
      const node = nodeOf(state, step)
      if (node === undefined) return
      if (error === undefined) skippedSpan(state, node, iteration, at)
      else if (iteration === undefined) close(state, agentKey(node.name, undefined), at, "skipped")
      if (iteration === undefined) {
        node.started_at ??= at
        endNode(node, "skipped", at, null)
      } else {
        if (node.loop !== null) node.loop.skipped++
        // One item has failed; the loop goes on.
        if (error !== undefined)
          Object.assign(node, { state: "running", finished_at: null, duration_ms: null, error: null })
      }
      return
    }
    case "step_reused": {
      const { step, iteration, output } = event.data
      const node = nodeOf(state, step)
      if (node === undefined) return
      reusedSpan(state, node, iteration, output, at)
      node.reused = (node.reused ?? 0) + 1
      if (iteration === undefined) {
        node.started_at ??= at
        endNode(node, "completed", at, 0)
      } else if (node.loop !== null) {
        node.loop.started++
        node.loop.completed++
      }
      return
    }
    case "agent_loop_started": {
      const { agent, iterations } = event.data
      const node = startNode(state, `agent.${agent}`, at)
      if (node !== undefined) node.loop = { total: iterations, started: 0, completed: 0, skipped: 0 }
      open(state, loopKey(agent), { kind: "loop", name: agent, parent: null, start: at, end: null, state: "running" })
      return
    }
    case "agent_loop_completed": {
      const { agent, duration_ms } = event.data
      close(state, loopKey(agent), at, "completed")
      const node = nodeOf(state, `agent.${agent}`)
      if (node !== undefined) endNode(node, "completed", at, duration_ms)
      return
    }
    case "context_compacted": {
      const { agent, iteration, source, duration_ms, usage } = event.data
      const node = nodeOf(state, `agent.${agent}`)
      if (node !== undefined) node.usage = addUsage(node.usage, usage)
      done(state, "compaction", source, agent, iteration, at, duration_ms, { usage })
      return
    }
    case "mcp_server_connected":
      done(state, "connection", event.data.server, undefined, undefined, at, event.data.duration_ms, {})
      return
    case "tool_call_started": {
      const { agent, dynamic, iteration, tool, server, call_id } = event.data
      const node = startNode(state, agent === undefined ? `dynamic.${dynamic ?? ""}` : `agent.${agent}`, at)
      if (node !== undefined) node.tool_calls++
      const parents = childOf(state, agent, iteration)
      open(state, callKey(call_id), {
        kind: "tool_call",
        name: tool,
        ...parents,
        parent: dynamic === undefined ? parents.parent : dynamicSpan(state, dynamic, agent, iteration, at),
        start: at,
        end: null,
        state: "running",
        server,
        call_id,
        arguments: event.data.arguments,
      })
      return
    }
    case "tool_call_completed": {
      const span = close(state, callKey(event.data.call_id), at, "completed")
      if (span !== undefined) span.result = event.data.result
      return
    }
    case "tool_call_failed": {
      const span = close(state, callKey(event.data.call_id), at, "failed")
      if (span !== undefined) span.error = event.data.error
      return
    }
    case "resource_read":
      done(state, "resource", event.data.name, undefined, undefined, at, event.data.duration_ms, {})
      return
    case "prompt_rendered":
      done(state, "prompt", event.data.name, undefined, undefined, at, event.data.duration_ms, {})
      return
    case "dynamic_resolved": {
      const { name, agent, iteration, duration_ms } = event.data
      const key = dynamicKey(name, agent, iteration)
      const span = close(state, key, at, "completed")
      if (span === undefined) done(state, "dynamic", name, agent, iteration, at, duration_ms, {})
      else span.start = Math.min(span.start, at - duration_ms)
      delete state.index.spans[key]
      const node = agent === undefined ? nodeOf(state, `dynamic.${name}`) : undefined
      if (node === undefined) return
      node.started_at ??= at - duration_ms
      endNode(node, "completed", at, duration_ms)
      return
    }
    case "cache_degraded":
      return
    case "question_asked":
      asked(state, event.data, at)
      return
    case "question_answered": {
      const { id, answer, answered_by } = event.data
      settled(state, id, at, { status: "answered", answer, answered_by })
      return
    }
    case "question_expired":
      settled(state, event.data.id, at, { status: "expired" })
      return
    case "run_waiting":
      state.status = "waiting"
      return
    case "run_continued":
      state.status = "running"
      return
    case "run_resumed":
      state.resumed++
      return
    case "workflow_completed":
      state.output = event.data.output.result
      finish(state, "completed", at, event.data.duration_ms)
      return
    case "workflow_failed":
      state.error = event.data.error
      blame(state, event.data.error, at)
      finish(state, "failed", at, event.data.duration_ms)
      return
    case "workflow_cancelled":
      finish(state, "cancelled", at, event.data.duration_ms)
      return
    default:
      // A newer service's event: nothing to do with it here.
      event satisfies never
  }
}

// ----------------------------------------------------------------------------------------------------------- limits

function countUse(state: RunState, event: SeenEvent, at: number | null): void {
  const used = (agent: string | undefined, key: LimitKey, amount: number): void => {
    if (state.limits === null || amount === 0) return
    const { agents, ...run } = state.limits
    const own = agent === undefined || agents === undefined ? undefined : agents[agent]
    state.limits = {
      ...added(run, key, amount),
      ...(agents === undefined ? {} : { agents }),
      ...(own === undefined || agent === undefined ? {} : { agents: { ...agents, [agent]: added(own, key, amount) } }),
    }
  }
  const spent = (agent: string, usage: Usage): void => {
    used(agent, "tokens", usage.input_tokens + usage.output_tokens)
    used(agent, "cost", usage.cost ?? 0)
  }
  const run = state.limits?.time_seconds
  if (run !== undefined && at !== null && state.started_at !== null) {
    used(undefined, "time_seconds", (at - state.started_at) / 1000 - run.used)
  }
  switch (event.type) {
    case "model_call_started":
      return used(event.data.agent, "model_calls", 1)
    case "tool_call_started":
      return used(event.data.agent, "tool_calls", 1)
    case "agent_completed":
    case "context_compacted":
      return spent(event.data.agent, event.data.usage)
    case "agent_failed":
      return spent(event.data.agent, usageOf(event.data.calls))
    case "workflow_completed":
    case "workflow_failed":
    case "workflow_cancelled":
      state.limits = event.data.limits ?? state.limits
      return
    default:
      return
  }
}

function added<Set extends ShownLimits>(limits: Set, key: LimitKey, amount: number): Set {
  const limit = limits[key]
  if (limit === undefined) return limits
  return { ...limits, [key]: { ...limit, used: Math.round((limit.used + amount) * 1e6) / 1e6 } }
}

// ------------------------------------------------------------------------------------------------------------ nodes

function nodeOf(state: RunState, id: string): NodeState | undefined {
  const position = Object.hasOwn(state.index.nodes, id) ? state.index.nodes[id] : undefined
  return position === undefined ? undefined : state.nodes[position]
}

function startNode(state: RunState, id: string, at: number): NodeState | undefined {
  const node = nodeOf(state, id)
  if (node !== undefined && node.state === "waiting") {
    node.state = "running"
    node.started_at = at
  }
  return node
}

function endNode(node: NodeState, as: Progress, at: number, duration: number | null): void {
  node.state = as
  node.finished_at = at
  node.duration_ms = duration ?? at - (node.started_at ?? at)
}

function isOver({ state }: NodeState): boolean {
  return state === "completed" || state === "failed" || state === "skipped"
}

/** A failure that came before its node had begun is known by its path alone. */
function blame(state: RunState, error: WireError, at: number): void {
  for (const { path } of error.issues) {
    const [kind, name] = path.split(/[.[]/)
    const node = nodeOf(state, kind === "output" ? "output" : `${kind ?? ""}.${name ?? ""}`)
    // A step whose question has expired counts as done until the run fails for it.
    if (node === undefined || (isOver(node) && kind !== "ask")) continue
    node.error = error
    endNode(node, "failed", at, null)
  }
}

function finish(state: RunState, as: "completed" | "failed" | "cancelled", at: number, duration: number): void {
  state.status = as
  state.finished_at = at
  state.duration_ms = duration
  for (const node of state.nodes) {
    if (as === "completed") {
      if (!isOver(node)) endNode(node, "completed", at, node.started_at === null ? 0 : null)
    } else if (node.state === "running" || node.state === "asking") endNode(node, "cancelled", at, null)
  }
  for (const position of Object.values(state.index.spans)) {
    const span = state.spans[position]
    if (span === undefined || span.end !== null) continue
    span.end = at
    span.state = as === "completed" ? "completed" : hasFailed(state, span) ? "failed" : "cancelled"
  }
  state.index.spans = {}
  for (const position of Object.values(state.index.questions)) {
    const question = state.questions[position]
    if (question !== undefined) state.questions[position] = { ...question, status: "withdrawn" }
  }
  state.index.questions = {}
}

/** Whether the span stands for a whole node that failed: a loop that ended with an item, a value whose tool failed. */
function hasFailed(state: RunState, { kind, name, parent }: Span): boolean {
  if (parent !== null) return false
  return nodeOf(state, `${kind === "loop" ? "agent" : kind}.${name}`)?.state === "failed"
}

// -------------------------------------------------------------------------------------------------------- questions

function asked(state: RunState, data: Extract<SeenEvent, { type: "question_asked" }>["data"], at: number): void {
  const { call_id, at: _, ...question } = data
  const { id, kind, name, iteration } = question
  state.index.questions[id] = state.questions.length
  state.questions.push({ ...question, status: "open" })
  const node = kind === "ask" ? startNode(state, `ask.${name}`, at) : undefined
  if (node !== undefined) Object.assign(node, { state: "asking", finished_at: null, duration_ms: null })
  open(state, questionKey(id), {
    kind: "ask",
    name,
    parent: null,
    ...(iteration === undefined ? {} : { iteration }),
    start: at,
    end: null,
    state: "running",
    ...(call_id === undefined ? {} : { call_id }),
  })
}

/** A step has been answered when none of its questions is open. */
function settled(state: RunState, id: string, at: number, outcome: Partial<Question>): void {
  const position = state.index.questions[id]
  const question = position === undefined ? undefined : state.questions[position]
  if (position === undefined || question === undefined) return
  state.questions[position] = { ...question, ...outcome }
  delete state.index.questions[id]
  close(state, questionKey(id), at, outcome.status === "answered" ? "completed" : "failed")
  if (question.kind !== "ask") return
  const isOpen = (one: number): boolean => {
    const other = state.questions[one]
    return other?.kind === "ask" && other.name === question.name
  }
  const node = nodeOf(state, `ask.${question.name}`)
  if (node !== undefined && !Object.values(state.index.questions).some(isOpen)) endNode(node, "completed", at, null)
}

// ------------------------------------------------------------------------------------------------------------ spans

const agentKey = (agent: string, iteration: number | undefined): string => `agent ${agent} ${iteration ?? ""}`
const loopKey = (agent: string): string => `loop ${agent}`
const dynamicKey = (name: string, agent: string | undefined, iteration: number | undefined): string =>
  `dynamic ${agent ?? ""} ${name} ${iteration ?? ""}`
const callKey = (id: string): string => `call ${id}`
const questionKey = (id: string): string => `question ${id}`

function open(state: RunState, key: string, span: Span): void {
  state.index.spans[key] = state.spans.length
  state.spans.push(span)
}

function close(state: RunState, key: string, at: number, as: Span["state"]): Span | undefined {
  const position = state.index.spans[key]
  const span = position === undefined ? undefined : state.spans[position]
  if (span === undefined) return undefined
  span.end = at
  span.state = as
  // Agents are kept until the end of the run, as parents of late events; calls are done with.
  if (span.kind === "tool_call" || span.kind === "ask") delete state.index.spans[key]
  return span
}

function childOf(
  state: RunState,
  agent: string | undefined,
  iteration: number | undefined,
): Pick<Span, "parent" | "iteration"> {
  const { spans } = state.index
  const parent = agent === undefined ? undefined : (spans[agentKey(agent, iteration)] ?? spans[loopKey(agent)])
  return { parent: parent ?? null, ...(iteration === undefined ? {} : { iteration }) }
}

/** A value that calls a tool is known from its first call on. */
function dynamicSpan(
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
  open(state, key, { kind: "dynamic", name, ...parents, start: at, end: null, state: "running" })
  return state.spans.length - 1
}

/** Something that is reported when it is over. */
function done(
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
function skippedSpan(state: RunState, { kind, name }: NodeState, iteration: number | undefined, at: number): void {
  if (kind === "output") return
  const skipped = { name, start: at, end: at, state: "skipped" as const }
  if (iteration === undefined) state.spans.push({ kind, parent: null, ...skipped })
  else state.spans.push({ kind: "iteration", parent: state.index.spans[loopKey(name)] ?? null, iteration, ...skipped })
}

function reusedSpan(
  state: RunState,
  { kind, name }: NodeState,
  iteration: number | undefined,
  output: JsonValue,
  at: number,
): void {
  if (kind === "output") return
  const reused = { name, start: at, end: at, state: "completed" as const, output, reused: true }
  if (iteration === undefined) state.spans.push({ kind, parent: null, ...reused })
  else state.spans.push({ kind: "iteration", parent: state.index.spans[loopKey(name)] ?? null, iteration, ...reused })
}

function modelCalls(
  state: RunState,
  agent: string,
  iteration: number | undefined,
  calls: readonly ModelCallRecord[],
  last: "completed" | "failed" = "completed",
): void {
  const parents = childOf(state, agent, iteration)
  // What is known of an iteration is complete now: without this, a long loop would keep ten thousand names.
  if (iteration !== undefined) delete state.index.spans[agentKey(agent, iteration)]
  for (const [position, call] of calls.entries()) {
    const start = Date.parse(call.started_at)
    // Another call of the same turn follows only where this one's answer could not be used.
    state.spans.push({
      kind: "model_call",
      name: agent,
      ...parents,
      start,
      end: start + call.duration_ms,
      state: call.turn === calls[position + 1]?.turn ? "failed" : position === calls.length - 1 ? last : "completed",
      call,
      ...(call.usage === undefined ? {} : { usage: call.usage }),
    })
  }
}
