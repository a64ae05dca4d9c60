import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { ApiError } from "./api-error.ts"
import type { NoticeEvent } from "../ports/notices.ts"
import type { NodeChange } from "../plan/compare-plans.ts"
import type { Limits, PlannedNode } from "../plan/plan-shape.ts"
import type { Question, Usage, WireError, ShownRunLimits } from "../ports/events.ts"
import type { Issue } from "../source/diagnostic.ts"

// What goes over the wire, as TypeScript sees it. `schemas.ts` says the same as JSON Schema.

/** Exactly one of the two. */
export interface SourceBody {
  readonly workflow_source?: string
  readonly workflow_source_base64?: string
}

export interface ExecuteBody extends SourceBody {
  readonly input?: JsonObject | null
  readonly secrets?: JsonObject | null
  readonly options?: ExecuteOptions | null
}

/** Fields that are left out are as in the earlier run, except secrets. */
export interface RerunBody extends ExecuteBody {
  /** Steps that run whatever their facts: `agent.write`. */
  readonly from?: readonly string[] | null
  /** Only while the server serves the same version of the earlier run's workflow. */
  readonly same_version?: boolean | null
}

export interface ExecuteOptions {
  readonly cache_key?: string | null
  readonly use_cache?: boolean | null
  readonly max_concurrency?: number | null
  readonly timeout_ms?: number | null
  readonly deltas?: boolean | null
  readonly notify?: NotifyOption | null
  readonly limits?: Limits | null
}

/** Where a run sends a signed notice, and of what: of all four events unless `events` is given. */
export interface NotifyOption {
  readonly url: string
  readonly events?: readonly NoticeEvent[] | null
}

export interface ValidateBody extends SourceBody {
  readonly input?: JsonObject | null
  readonly secrets?: JsonObject | null
  /** An earlier run: each node then says whether it would run again. */
  readonly rerun_of?: string | null
}

export type FormatBody = SourceBody

export interface InvalidateBody {
  readonly cache_key: string
}

/** A diagnostic of the source, or a misfit of `input` or `secrets` (which has no range). */
export type ValidateIssue = Issue | Omit<Issue, "range">

export interface ValidateAnswer {
  readonly valid: boolean
  readonly issues: readonly ValidateIssue[]
  /** How many more issues there are, where they are too many to send. */
  readonly issues_omitted?: number
  readonly plan: PlanView | null
  /** JSON Schemas; there when the workflow is valid. */
  readonly schemas: { readonly input: JsonObject; readonly secrets: JsonObject; readonly output: JsonObject } | null
}

export interface PlanView {
  readonly nodes: readonly (PlannedNode & { readonly rerun?: NodeChange })[]
  /** `to` waits for `from`. */
  readonly edges: readonly { readonly from: string; readonly to: string }[]
}

export interface FormatAnswer {
  readonly formatted_workflow_source: string
  readonly changed: boolean
}

export type RunStatusName = "queued" | "running" | "waiting" | "cancelling" | "completed" | "failed" | "cancelled"

export interface RunAnswer {
  readonly run_id: string
  readonly status: RunStatusName
  readonly created_at: string
  readonly finished_at: string | null
  readonly output: JsonValue
  readonly error: WireError | null
  readonly usage: Usage
  /** Only for a run with limits. */
  readonly limits?: ShownRunLimits
  readonly last_event_id: number
  /** The workflow of the server's folder that it runs; null for source that the caller sent. */
  readonly workflow: string | null
  readonly version: string | null
  /** The earlier run that it took results over from; null for a run that started afresh. */
  readonly rerun_of: string | null
  readonly notifications: readonly NotificationView[]
}

/** `POST /execute/{run_id}/questions/{id}` */
export interface AnswerBody {
  readonly answer: JsonValue
  /** For an approval: the digest of the question. */
  readonly digest?: string | null
  /** A label for the person, of up to 200 characters. */
  readonly by?: string | null
}

/** A page of questions. */
export interface QuestionsAnswer {
  readonly questions: readonly Question[]
  /** `after` of the next page; null on the last one. */
  readonly next: string | null
}

/** The answer in JSON mode when the run begins to wait for people. */
export interface WaitingAnswer {
  readonly run_id: string
  readonly status: "waiting"
  readonly questions: readonly Question[]
  /** Only where not all of them fit: `after` of the next page of the run's questions. */
  readonly next?: string
}

/** The answer in asynchronous mode. */
export interface StartedAnswer {
  readonly run_id: string
  readonly status: RunStatusName
}

/** A run as the list of runs shows it. */
export interface ListedRunAnswer {
  readonly run_id: string
  readonly workflow: string | null
  readonly version: string | null
  readonly status: RunStatusName
  readonly created_at: string
  readonly finished_at: string | null
  readonly usage: Usage
}

export interface RunsAnswer {
  /** Newest first. */
  readonly runs: readonly ListedRunAnswer[]
  /** `after` of the next page; null on the last one. */
  readonly next: string | null
}

/** What is wrong with a file of the server's folder, apart from its text. */
export interface WorkflowIssue {
  readonly code:
    | "workflow-name"
    | "workflow-link"
    | "workflow-count"
    | "workflow-encoding"
    | "workflow-too-large"
    | "workflow-unreadable"
    | "workflow-name-case"
    | "workflow-tool-name"
  readonly severity: "error" | "warning"
  readonly path: string
  readonly message: string
  readonly hint?: string
}

/** A workflow of the server's folder. While its file has errors, this is the last version without any. */
export interface WorkflowAnswer {
  readonly name: string
  /** The `//` comment at the top of the file. */
  readonly description: string | null
  /** Null for a file that is not served. */
  readonly version: string | null
  readonly valid: boolean
  readonly issues: readonly (ValidateIssue | WorkflowIssue)[]
  /** Null until there is a version without errors. */
  readonly schemas: { readonly input: JsonObject; readonly output: JsonObject } | null
  /** The secrets that it declares: whether the server has them. */
  readonly secrets: Readonly<Record<string, "set" | "missing">>
  /** Secrets that a request may not send alone: they decide where others of the server's own go. Absent where there are none. */
  readonly fixed_secrets?: readonly string[]
}

export interface WorkflowDetail extends WorkflowAnswer {
  readonly source: string | null
  readonly plan: PlanView | null
}

export interface WorkflowsAnswer {
  readonly workflows: readonly WorkflowAnswer[]
  /** `after` of the next page; null on the last one. */
  readonly next: string | null
}

export interface ExecuteWorkflowBody {
  readonly input?: JsonObject | null
  readonly secrets?: JsonObject | null
  readonly options?: ExecuteOptions | null
}

/** A notification of the run, as far as it has come. */
export interface NotificationView {
  readonly type: `run.${NoticeEvent}`
  readonly status: "pending" | "delivered" | "gave_up"
  readonly attempts: number
  readonly last_error: string | null
}

export interface CancelAnswer {
  readonly run_id: string
  readonly status: RunStatusName
}

export interface InvalidateAnswer {
  readonly purged_entries: number
}

export interface ErrorAnswer {
  readonly error: ApiError
}

/** The name of the frame that ends a stream which can not go on to the run's end; its data is an `ErrorAnswer`. */
export const streamError = "stream_error"
