import type { JsonValue } from "../base/json-value.ts"
import type {
  EventData,
  EventType,
  ModelCallRecord,
  Question,
  Rejection,
  ShownMessages,
  ShownRunLimits,
  StartedWait,
  Usage,
  WaitingFor,
  WireError,
} from "./events.ts"
import type { PlannedNode } from "../plan/plan-shape.ts"
import type { EventHandlers } from "./event-handlers.ts"
import { noUsage } from "./usage.ts"

/**
 * An event as any of its readers has it: from the log, or from the stream, where the time is in the data alone. One of a
 * type that this release does not know changes nothing but the last id.
 */
export type SeenEvent = {
  [T in EventType]: {
    readonly id: number
    readonly type: T
    readonly data: EventData[T] & { readonly at?: string; readonly scope?: string }
    readonly cost?: number
  }
}[EventType]

/** Handlers of events for the state that people see. */
export type ShownHandlers = EventHandlers<RunState, SeenEvent>

/** The state that a run's events add up to. Plain JSON; times are milliseconds since the epoch, durations milliseconds. */
export interface RunState {
  status: "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled"
  started_at: number | null
  finished_at: number | null
  duration_ms: number | null
  /** The workflow's result. */
  output: JsonValue
  error: WireError | null
  usage: Usage
  /** Calls that the end of the run cut off: what they used is not in `usage`. Absent where there is none. */
  cut_off?: number
  /** Limits of the run with the consumption of each. Calls count when their step has ended, and exactly at the end of the run. */
  limits: ShownRunLimits | null
  /** The earlier run that this one took results over from. */
  rerun_of?: string
  /** The version that it had before it moved to the one that it has. Absent where it has not moved. */
  moved_from?: string
  /** What it waits for. Absent while it does not wait. */
  waiting_for?: WaitingFor
  /** Absent while there is none. */
  batches?: ShownBatch[]
  /** How often the run was taken up again after its process had died. */
  resumed: number
  last_event_id: number
  /** In an order in which they can run. */
  nodes: NodeState[]
  /** In the order in which they were reported; a parent comes before its children. */
  spans: Span[]
  /** By scope: each call of a workflow, those inside of others included. Absent while there is none. */
  inside?: Record<string, RunState>
  /** In the order in which they were asked, those of called workflows included. */
  questions: Question[]
  /** Finds open nodes, spans and questions; of use to `reduce` alone. */
  index: { nodes: Record<string, number>; spans: Record<string, number>; questions: Record<string, number> }
}

/** A batch of model calls. */
export interface ShownBatch {
  readonly agent: string
  readonly id: string
  /** `in_progress`, another word of the vendor, or `ended`. */
  status: string
  completed: number
  failed: number
  readonly total: number
  readonly submitted_at: string
}

/** `asking`: its question is open. Before a node runs, and while it waits for a time or an event, it is `waiting`. */
export type Progress = "waiting" | "running" | "asking" | "completed" | "skipped" | "failed" | "cancelled"

export interface NodeState {
  readonly id: string
  readonly kind: PlannedNode["kind"]
  readonly name: string
  readonly depends_on: readonly string[]
  /** The source text of its condition. */
  readonly when?: string
  /** Max rounds of an agent that repeats. */
  readonly at_most?: number
  /** The name of the event that it waits for. */
  readonly event?: string
  state: Progress
  started_at: number | null
  finished_at: number | null
  duration_ms: number | null
  /** The backend's id. */
  model: string | null
  /** `name`, `description` and `parameters` of each tool, as the model gets them. */
  tools?: JsonValue
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
  /** The kind of question that the node waits for, and since when; absent where it does not wait. */
  asking?: { readonly kind: Question["kind"]; readonly since: number }
  /** Its open waits for times and events; absent where there is none. */
  awaits?: StartedWait[]
}

export type SpanKind =
  | "agent"
  /** A wait for a time or an event. */
  | "wait"
  /** A question, from asking to its outcome. */
  | "ask"
  | "loop"
  | "iteration"
  | "model_call"
  | "retry"
  | "fallback"
  | "tool_call"
  /** What a provider's own tool did, when its answer came. */
  | "hosted_tool"
  /** A call of a workflow, whose own spans are those of the state inside. */
  | "workflow_call"
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
  /** Positions of the items, for a call, read or render in a list. */
  readonly items?: readonly number[]
  start: number
  end: number | null
  state: Exclude<Progress, "waiting">
  usage?: Usage
  output?: JsonValue
  /** What code of the step wrote to its console. */
  logs?: string
  error?: WireError
  cached?: boolean
  /** Taken over from an earlier run. */
  reused?: boolean
  /** The caller of the re-run gave it. */
  given?: true
  instruction?: string
  /** Set for a wait: the time or the event that ends it. */
  awaited?: StartedWait
  /** Set for a model call. */
  call?: ModelCallRecord
  /** Set for a fallback: the declared name of the model that failed. The span's name is that of the next model. */
  from?: string
  /** Set for a retry. */
  reason?: string
  attempt?: number
  /** Set for a hosted tool: what was asked of it and found. */
  summary?: string
  /** Set for a retry: the requirements that sent the output back, where they did. */
  requirements?: readonly Rejection[]
  /** Messages of a prompt, or new messages that the conversation ends with from a retry on. */
  messages?: ShownMessages
  /** The last answer of a failed step or a fallback, where it was rejected. */
  answer?: string
  /** The `siteKey` of the expression that calls, reads or renders. */
  site?: string
  /** Set for a tool call. */
  server?: string
  /** Method and status of the request that a tool of an api made. */
  http?: { readonly method: string; readonly status: number }
  call_id?: string
  /** Set for a call of a workflow. */
  scope?: string
  arguments?: JsonValue
  /** Result of a tool call, a called workflow or a resource; the summary of a compaction. */
  result?: JsonValue
}

/** Finds what a call, read or render in an expression gave, among the spans. */
export function siteKey(site: string, iteration: number | undefined, items: readonly number[] = []): string {
  return items.length === 0 ? `${site} ${iteration ?? ""}` : `${site} ${iteration ?? ""} ${items.join(".")}`
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

/** The batches of a run, those of the workflows that it calls included. */
export function batchesIn({ batches = [], inside = {} }: RunState): ShownBatch[] {
  return [...batches, ...Object.values(inside).flatMap(batchesIn)]
}
