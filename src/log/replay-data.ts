import type { JsonValue } from "../base/json-value.ts"
import type { EventType, ModelCallRecord, Usage } from "./events.ts"
import type { ProgressReplayData } from "./turn-progress.ts"
import type { ModelToolCall, PromptMessage, ToolPart } from "./messages.ts"
import type { StoredRequests } from "./stored-requests.ts"
import type { LogWriter } from "./log-version.ts"
import type { Price } from "../plan/price-of-model.ts"
import type { StoredMessages } from "./stored-messages.ts"

/**
 * Data that a log keeps beside an event's public data, for a continuation alone. An effect's outcome is kept once, by the event
 * that tells of it; values that follow from outcomes are computed again.
 */
interface ReplayDataOf {
  workflow_started: LogWriter
  /** The backend's id of the model, and what the ledger counts: the exact cost that is reserved, at the price of budgets. */
  model_call_started: { readonly id: string; readonly cost: number | null; readonly price: Price | null }
  agent_retried: { readonly turn: number; readonly progress?: ProgressReplayData }
  agent_fallback: {
    readonly turn: number
    /** Attempts of the turn so far, those of all models together. */
    readonly attempts: number
    /** Calls of the model that failed, in this turn. */
    readonly calls: readonly ModelCallRecord[]
  }
  batch_prepared: BatchReplayData
  batch_left: { readonly calls: readonly Pick<BatchItemReplayData, "iteration" | "attempt">[] }
  agent_completed: WithRequests & {
    /** Where the event shows its size only. */
    readonly output?: JsonValue
    /** Where another agent continues it. */
    readonly history?: StoredMessages
    /** Hash of what decided it, for a re-run; results that a test gave lack it. */
    readonly facts?: string
  }
  agent_failed: WithRequests
  step_reused: ReuseReplayData
  context_compacted: { readonly summary: string; readonly calls: readonly ModelCallRecord[] }
  /** Hash of what it waits for, for a re-run. */
  wait_started: { readonly facts: string }
  question_asked: AskReplayData | ApprovalReplayData
  tool_call_started: ModelCallReplayData | WorkflowCallReplayData
  workflow_call_started: CallOfWorkflowReplayData
  /** Where the event shows its size only. */
  workflow_call_completed: { readonly output: JsonValue }
  tool_call_completed: WithRequests & {
    /** Where the event shows its size only. */
    readonly result?: JsonValue
    /** Where there is more than text, for a model. */
    readonly parts?: readonly ToolPart[]
  }
  tool_call_failed: WithRequests & {
    /** The text that the model was shown; absent where the failure ended the agent. */
    readonly told?: string
    /** The call was not made, and counts for nothing. */
    readonly refused?: boolean
  }
  run_waiting: { readonly alarms: readonly Alarm[] }
  run_resumed: LogWriter & {
    /** The process before gave the run back by itself, so that the run is not to blame for its end. */
    readonly given_back?: true
    /** No other suspect runs in the process: the run is to blame if it dies soon. */
    readonly alone?: true
  }
  /** `agent`: the one whose expression read it. */
  resource_read: { readonly site: string; readonly value: JsonValue; readonly agent?: string; readonly facts?: string }
  workflow_failed: WithRequests
  workflow_cancelled: WithRequests
  prompt_rendered: { readonly site: string; readonly messages: readonly PromptMessage[]; readonly facts?: string }
}

/** Wakes a parked run when it is due, or when some process settles it before. It is armed when the run parks, and disarmed when the run goes on. */
export interface Alarm {
  readonly kind: "batch" | "budget"
  /** What `run_waiting` and `run_continued` call it: the id of the batch, the path of the budget. */
  readonly id: string
  /** Finds the alarms that something wakes early; null where only time does. */
  readonly key: string | null
  /** Milliseconds since the epoch. */
  readonly due_at: number
  /** How far a batch has come. */
  readonly progress?: BatchProgress
}

/** What the vendor last said of a batch. */
export interface BatchProgress {
  /** `in_progress`, or another of the vendor's words. */
  readonly status: string
  readonly completed: number
  readonly failed: number
}

/** What it takes to find a batch again, and to take its results in. */
export interface BatchReplayData {
  /** The declared model, the backend's id of it, and the price that budgets go by. */
  readonly model: string
  readonly id: string
  readonly price: Price | null
  /** Of all that is sent. */
  readonly hash: string
  readonly items: readonly BatchItemReplayData[]
}

/** `reserved` in a run with limits or budgets. Budgets count `budgeted`, where that is another cost. */
export interface BatchItemReplayData {
  readonly iteration: number
  readonly attempt: number
  readonly reserved?: { readonly tokens: number; readonly cost: number | null; readonly budgeted?: number | null }
}

interface WithRequests {
  readonly requests?: StoredRequests
}

/** A step, or a call, read or render of the workflow's own, that a re-run took over. */
export type ReuseReplayData =
  | { readonly facts: string; readonly output?: JsonValue; readonly history?: StoredMessages }
  | { readonly facts: string; readonly site: string; readonly outcome: EffectReplayData }

export type EffectReplayData =
  | { readonly kind: "call"; readonly value: JsonValue }
  | { readonly kind: "read"; readonly value: JsonValue }
  | { readonly kind: "render"; readonly messages: readonly PromptMessage[] }

/** A call that the model made. */
export interface ModelCallReplayData {
  readonly turn: number
  /** Position among the calls of the turn, from 0. */
  readonly index: number
  /** With the first call of a turn: the whole turn. */
  readonly answer?: TurnReplayData
}

export interface TurnReplayData extends WithRequests {
  /** The model's answer. */
  readonly message: StoredMessages
  readonly usage: Usage
  readonly calls: readonly ModelCallRecord[]
  readonly tool_calls: readonly ModelToolCall[]
  /** Tools that the model knew before this turn to be used up. */
  readonly withdrawn?: readonly string[]
}

/** A question of an `ask` step. */
export interface AskReplayData {
  /** The step's id, with the position in a loop. */
  readonly place: string
  /** Where it has requirements. */
  readonly requirements?: RequirementsReplayData
}

export interface RequirementsReplayData {
  /** Hash of all that decides which answers fulfil them, for a re-run. */
  readonly facts: string
  readonly captured: CapturedValues
}

/** Values that each requirement of a step refers to, besides `result`. */
export type CapturedValues = readonly (readonly CapturedValue[])[]

/** `error`: the sentence of the error that evaluating it brought. */
export type CapturedValue = { readonly value: JsonValue } | { readonly error: string }

/** A call of a workflow. */
export interface CallOfWorkflowReplayData {
  /** The path of its file. */
  readonly file: string
  /** Set for a call that a model made. */
  readonly call?: ModelCallReplayData
}

/** A question about a call. */
export interface ApprovalReplayData {
  /** The replay data that the start of the call would have. */
  readonly call: ModelCallReplayData | WorkflowCallReplayData
  /** The scope that a call of a workflow will have. */
  readonly scope?: string
  /** The agent that makes the call, if one does. */
  readonly agent?: string
  /** For a question of the server. */
  readonly elicitation?: ElicitationReplayData
}

export interface ElicitationReplayData {
  /** How often the server has asked during this call, from 1. */
  readonly round: number
  /** The server's name of the question. */
  readonly key: string
  /** With the first question of a round. */
  readonly state?: string
}

/** A `call` of the workflow's own. */
export interface WorkflowCallReplayData {
  readonly site: string
  readonly facts?: string
}

export type ReplayData<T extends EventType> = T extends keyof ReplayDataOf ? ReplayDataOf[T] : never
