import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { ErrorKind } from "../check/error-kinds.ts"
import type { limitKeys } from "../syntax/property-table.ts"
import type { PlannedNode } from "../plan/plan-shape.ts"

/** Tokens of one model call, or summed over several. */
export interface TokenUsage {
  /** Cached ones included. */
  readonly input_tokens: number
  /** Reasoning included. */
  readonly output_tokens: number
  readonly cached_tokens: number
  readonly reasoning_tokens: number
}

export interface Usage extends TokenUsage {
  /** In the currency of the workflow's prices, rounded to 1e-6; null once a call had no price. */
  readonly cost: number | null
}

export type { ErrorKind }

/** What every error looks like, in a response's body and in `workflow_failed` alike. */
export interface WireError<Kind extends string = ErrorKind> {
  readonly kind: Kind
  /** The first issue's, with a count when there are more. */
  readonly message: string
  readonly issues: readonly ErrorIssue[]
}

export interface ErrorIssue {
  readonly path: string
  readonly message: string
  readonly code?: string
  readonly hint?: string
  readonly range?: JsonValue
  /** The backend's or server's HTTP status, where there was one. */
  readonly upstream_status?: number
}

/** A requirement that an output or an answer does not fulfil: its position among the step's, and its text. */
export interface Rejection {
  readonly index: number
  readonly message: string
}

export type LimitKey = (typeof limitKeys)[number]

/** Limits as they are shown, with what has been used of each. */
export type ShownLimits = { readonly [Key in LimitKey]?: ShownLimit }

export interface ShownLimit {
  readonly limit: number
  readonly used: number
}

export interface ShownRunLimits extends ShownLimits {
  readonly agents?: { readonly [agent: string]: ShownLimits }
}

/** A value too large for the stream is replaced by its size. */
export type Shown = JsonValue

/** One call of a model backend. */
export interface ModelCallRecord {
  /** Names it within the run: `review[2].1.1`, of the step, the turn and the attempt. */
  readonly call_id?: string
  readonly turn: number
  readonly attempt: number
  readonly started_at: string
  readonly duration_ms: number
  /** The declared name of the model, its id at the backend, and the kind of its provider. */
  readonly model?: string
  readonly id?: string
  readonly provider?: string
  readonly usage?: Usage
  /** The output format that held (`json_schema`, `json_object`, `instruction_only`), or `text`. */
  readonly format?: string
  /** The end of the run cut it off: what it used is not known. */
  readonly cut_off?: true
}

/** The model calls of a step that the end of the run interrupted. */
export interface InterruptedStep {
  readonly scope?: string
  readonly agent: string
  readonly iteration?: number
  readonly calls: readonly ModelCallRecord[]
}

/** With the first event of a turn that called tools: the model calls of that turn. */
interface OfTurn {
  readonly calls?: readonly ModelCallRecord[]
}

/** A message that entered a conversation from elsewhere than the workflow's source, as events show it. */
export interface ShownMessage {
  readonly role: "user" | "assistant"
  readonly text: string
  /** URLs and data URLs. */
  readonly images?: readonly string[]
}

/** Messages over 256 KiB together are replaced by their size. */
export type ShownMessages = readonly ShownMessage[] | { readonly truncated: true; readonly bytes: number }

/** A call, read or render in an expression. */
interface AtSite {
  /** Names the expression within the workflow, as the plan does: `dynamic.related/call find_issues`. */
  readonly site?: string
  /** Inside a loop, counted from 0. */
  readonly iteration?: number
  readonly items?: Items
}

/** Positions in the lists that a call stands in, after `when` and `by`, the outermost first. */
type Items = readonly number[]

interface About {
  readonly agent: string
  /** Inside a loop, counted from 0. */
  readonly iteration?: number
}

/** What a tool of an api sent and got. */
interface OverHttp {
  readonly http?: { readonly method: string; readonly status: number }
}

interface AboutTool {
  /** The agent whose model called, or (`dynamic`) the value whose expression did. */
  readonly agent?: string
  readonly dynamic?: string
  readonly iteration?: number
  readonly items?: Items
  readonly tool: string
  readonly server: string
  readonly call_id: string
}

/** A call of a workflow: a `call` in an expression, or one that a model made. */
interface AboutWorkflowCall {
  readonly workflow: string
  readonly call_id: string
  /** That of all events inside the call. */
  readonly scope?: string
  /** Only for a call in an expression. */
  readonly site?: string
  /** The agent whose model or expression called, or (`dynamic`) the value whose expression did. */
  readonly agent?: string
  readonly dynamic?: string
  readonly iteration?: number
  readonly items?: Items
}

/** A question to a person as it is asked: of an `ask` step, whether a tool may be called (`approval`), or of an MCP server (`elicitation`). */
export interface AskedQuestion {
  readonly id: string
  readonly run_id: string
  readonly kind: "ask" | "approval" | "elicitation"
  /** The call of a workflow in which it is asked. Absent for one of the run itself. */
  readonly scope?: string
  /** The name of the step, or the declared name of the tool or of the workflow. */
  readonly name: string
  /** Inside a loop, counted from 0. */
  readonly iteration?: number
  /** Of a call in a list. */
  readonly items?: Items
  readonly question: string
  /** For the person to look at. */
  readonly show: Shown
  /** The group that answers, or a label to filter by. */
  readonly to: string | null
  /** JSON Schema of the answer. */
  readonly schema: JsonObject
  /** The tool's name on its server, and the server; for an approval the arguments as they would be sent, secrets by name. */
  readonly tool?: string
  readonly server?: string
  readonly endpoint?: string
  /** In place of tool and server, where the call of a workflow is to be approved: its declared name, and its file. */
  readonly workflow?: string
  readonly file?: string
  readonly arguments?: JsonObject
  /** Digest of everything that an approval allows; the answer repeats it. */
  readonly digest?: string
  readonly asked_at: string
  readonly expires_at: string
}

/** Who gave an answer: the caller's key name (null without keys), and the person's name as the caller gave it. */
export interface AnsweredBy {
  readonly caller: string | null
  readonly by: string | null
}

export type QuestionStatus = "open" | "answered" | "expired" | "withdrawn"

/** A question with what has become of it. `withdrawn`: the run ended while it was open. */
export interface Question extends AskedQuestion {
  readonly status: QuestionStatus
  readonly answer?: JsonValue
  readonly answered_by?: AnsweredBy
  readonly answered_at?: string
}

interface Interrupting {
  readonly interrupted?: readonly InterruptedStep[]
}

/** What started a run without a caller. `due_at` is null for a schedule that was started by hand. */
export type RunTrigger =
  | { readonly schedule: string; readonly due_at: string | null }
  | { readonly webhook: string; readonly delivery: string }

/** The data of each event, `at` left out: it is added when the event is logged. */
export interface EventData {
  /** `rerun_of`: the earlier run that this one takes results over from. `trigger`: what started it, where no caller did. */
  workflow_started: { readonly rerun_of?: string; readonly trigger?: RunTrigger }
  /** `limits`: those of the run, where it has any. */
  workflow_planned: {
    readonly nodes: readonly PlannedNode[]
    readonly limits?: ShownRunLimits
    /** Streams of the run also have `agent_partial`. */
    readonly partials?: true
  }
  agent_started: About & {
    readonly model: string
    readonly tools: readonly string[]
    readonly instruction: string
    /** With the first step of an agent that has tools: `name`, `description` and `parameters` of each, as its model gets them. */
    readonly tool_definitions?: Shown
  }
  agent_delta: About & { readonly attempt: number; readonly text: string }
  agent_retried: About & {
    readonly attempt: number
    readonly reason: string
    readonly delay_ms: number
    /**
     * What the conversation of this turn ends with from this attempt on, where that is new: an answer that could not be used,
     * and what the model is asked to do about it.
     */
    readonly added?: ShownMessages
    /** The requirements that sent the output back, where they did. */
    readonly requirements?: readonly Rejection[]
  }
  /** In runs with limits: stored before each request to a backend. */
  model_call_started: About & {
    /** 0 for a compaction. */
    readonly turn: number
    readonly attempt: number
    /** The declared name of the model. */
    readonly model: string
    readonly reserved: { readonly tokens: number; readonly cost: number | null }
  }
  /** A model has failed for good, and the next one of the list goes on. */
  agent_fallback: About & {
    readonly from: string
    readonly to: string
    readonly error: WireError
    /** The last answer of the model that failed, where it was rejected. */
    readonly answer?: string
  }
  agent_completed: About & {
    readonly output: Shown
    readonly cached: boolean
    readonly duration_ms: number
    readonly usage: Usage
    readonly calls: readonly ModelCallRecord[]
  }
  agent_failed: About & {
    readonly error: WireError
    /** The last answer, where it was rejected. */
    readonly answer?: string
    readonly duration_ms: number
    readonly calls: readonly ModelCallRecord[]
  }
  /** A step that its condition ruled out, or (`error`) one that failed and may; with `site`, a call of it that failed and may. */
  step_skipped: AtSite & { readonly step: string; readonly error?: WireError }
  /** A step whose result a re-run takes over from an earlier run. */
  step_reused: {
    readonly step: string
    readonly iteration?: number
    readonly items?: Items
    readonly output: Shown
    /** The earlier run. */
    readonly run_id: string
    /** The caller of the re-run gave the result. */
    readonly given?: true
    /** Only for a call, read or render in an expression. */
    readonly site?: string
    /** Only for a prompt; `output` is their text. */
    readonly messages?: ShownMessages
  }
  agent_loop_started: { readonly agent: string; readonly iterations: number }
  agent_loop_completed: { readonly agent: string; readonly iterations: number; readonly duration_ms: number }
  context_compacted: About & {
    readonly source: string
    readonly summary?: Shown
    readonly duration_ms: number
    readonly usage: Usage
  }
  mcp_server_connected: {
    readonly server: string
    readonly protocol: string
    readonly tools: readonly string[]
    readonly duration_ms: number
  }
  /** `site`: of a call in an expression. */
  tool_call_started: AboutTool & OfTurn & { readonly arguments: Shown; readonly site?: string }
  /** The call is made once more, with what people answered. */
  tool_call_continued: AboutTool & { readonly round: number }
  tool_call_completed: AboutTool & OverHttp & { readonly result: Shown; readonly duration_ms: number }
  tool_call_failed: AboutTool & OverHttp & { readonly error: WireError; readonly duration_ms: number }
  workflow_call_started: AboutWorkflowCall & OfTurn & { readonly input: Shown }
  workflow_call_completed: AboutWorkflowCall & {
    readonly output: Shown
    readonly duration_ms: number
    /** Of all that happened inside. */
    readonly usage: Usage
  }
  workflow_call_failed: AboutWorkflowCall & { readonly error: WireError; readonly duration_ms: number }
  resource_read: AtSite & {
    readonly name: string
    readonly server: string
    readonly value?: Shown
    readonly duration_ms: number
  }
  prompt_rendered: AtSite & {
    readonly name: string
    readonly server: string
    readonly messages?: ShownMessages
    readonly duration_ms: number
  }
  dynamic_resolved: {
    readonly name: string
    readonly agent?: string
    readonly iteration?: number
    readonly duration_ms: number
  }
  cache_degraded: { readonly operation: string }
  /** `agent`, `dynamic`: of an approval, what makes the call. */
  question_asked: AskedQuestion &
    OfTurn & { readonly call_id?: string; readonly agent?: string; readonly dynamic?: string }
  question_answered: {
    readonly id: string
    readonly name: string
    readonly answer: JsonValue
    readonly answered_by: AnsweredBy
  }
  question_expired: { readonly id: string; readonly name: string }
  /** All that the run could still do waits for the answers to these questions. */
  run_waiting: { readonly questions: readonly string[] }
  /** The outcomes of these questions woke the run. */
  run_continued: { readonly questions: readonly string[] }
  run_resumed: { readonly reason: string }
  workflow_completed: {
    readonly output: { readonly result: JsonValue }
    readonly usage: Usage
    readonly limits?: ShownRunLimits
    readonly duration_ms: number
  }
  /** `usage`: unknown for a run whose log is damaged. */
  workflow_failed: Interrupting & {
    readonly error: WireError
    readonly usage?: Usage
    readonly limits?: ShownRunLimits
    readonly duration_ms: number
  }
  workflow_cancelled: Interrupting & {
    readonly usage?: Usage
    readonly limits?: ShownRunLimits
    readonly duration_ms: number
  }
}

export type EventType = keyof EventData

/**
 * One entry of a run's log. `id` counts 1, 2, 3 … without gaps; `data` is what clients see, `at` included (except in
 * `workflow_started`), and `scope` where it is of a called workflow; `kept` is what only a continuation needs (histories, whole results) and never leaves the service.
 */
export type LogEvent = {
  [T in EventType]: {
    readonly id: number
    readonly type: T
    /** ISO time. */
    readonly at: string
    readonly data: EventData[T] & { readonly at?: string; readonly scope?: string }
    readonly kept?: JsonValue
    /** The cost of the recorded work where `data` shows it rounded. Never leaves the service. */
    readonly cost?: number
  }
}[EventType]

const terminalEvents = ["workflow_completed", "workflow_failed", "workflow_cancelled"] as const

export function isTerminal(type: EventType): boolean {
  return (terminalEvents as readonly string[]).includes(type)
}
