import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { RecordType, Type, TypeTable } from "../types/types.ts"
import type { Inference, ResponseFormat } from "../plan/plan-shape.ts"
import type { ErrorIssue, LogEvent, ModelCallRecord, Usage, WireError } from "./events.ts"
import type { RedactStream } from "./redact-stream.ts"

// Time, chance, network and storage enter `run/` only through this file.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after the delay; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export interface Chance {
  /** At least 128 random bits, URL-safe. */
  id(): string
  /** Uniform in [0, 1). */
  fraction(): number
}

// ---------------------------------------------------------------------------------------------------------- models

/** Where calls go and as whom. Secret values are plain here: the adapter is the only one that sends them. */
export interface Backend {
  /** The base address; `demo` is the service's own demo model. */
  readonly endpoint: string
  readonly api_key: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** An item of the `/responses` wire format, as it is sent back whole in the next turn. */
export type HistoryItem = JsonObject

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, bound ones already taken out. */
  readonly parameters: JsonObject
}

/** The structured output that an agent owes. */
export interface OutputContract {
  /** Name for the schema on the wire: the agent's. */
  readonly name: string
  readonly type: RecordType
  readonly types: TypeTable
}

export interface ModelRequest {
  /** The place in the workflow that errors name: `agent.review`. */
  readonly path: string
  readonly backend: Backend
  readonly model: string
  /** The whole conversation, oldest first. */
  readonly input: readonly HistoryItem[]
  readonly tools: readonly ToolDefinition[]
  /** Null: any text will do (a compaction). */
  readonly contract: OutputContract | null
  readonly response_format: ResponseFormat
  readonly inference: Inference
  /** Which turn of the agent this is, from 1; goes into the call records. */
  readonly turn: number
  /** How many attempts of this turn the log knows of, and how far they came: a resumed run goes on from there. */
  readonly attempts_before: number
  readonly progress: TurnProgress | null
  /** Stream upstream and report text as it comes. */
  readonly deltas: boolean
}

/** How far a turn has come: kept in the log with every retry, and given back where the turn is taken up again. */
export interface TurnProgress {
  /** Those made so far; none of their answers held. */
  readonly calls: readonly ModelCallRecord[]
  /** Failed calls in a row. */
  readonly retries: number
  /** Answers that were sent back to be mended. */
  readonly repairs: number
  /** Milliseconds since the epoch: the next call is not made before. */
  readonly not_before: number
  /** Said after the conversation: an answer that did not fit, and what is wrong with it. */
  readonly added: readonly HistoryItem[]
  /** The tools are done with. */
  readonly closing: boolean
  /** How the output is asked for by now, in the client's own word. */
  readonly format: string | null
}

export interface ModelWatch {
  readonly signal: AbortSignal
  /**
   * Awaited before the wait begins, so that the retry is in the log first. `attempt` is the one about to be made; it is
   * made because the one before it failed, was refused (`delay_ms` 0), or did not fit the contract (`delay_ms` 0).
   */
  retried(retry: { attempt: number; reason: string; delay_ms: number; progress: TurnProgress }): Promise<void>
  delta(attempt: number, text: string): void
  /** Replaces secrets in whatever came from outside, before anyone else sees it. */
  redact<T extends JsonValue>(value: T): T
  /** The same for a text that comes in pieces. */
  redactStream(): RedactStream
}

export interface ModelToolCall {
  readonly call_id: string
  readonly name: string
  /** JSON text as the model wrote it. */
  readonly arguments: string
}

interface TurnBase {
  /** The items of the answer that held, to be appended to the history; failed attempts and repairs leave none. */
  readonly items: readonly HistoryItem[]
  readonly calls: readonly ModelCallRecord[]
  readonly usage: Usage
}

export type ModelTurn =
  | (TurnBase & { readonly kind: "tool_calls"; readonly tool_calls: readonly ModelToolCall[] })
  | (TurnBase & { readonly kind: "output"; readonly output: JsonObject })
  | (TurnBase & { readonly kind: "text"; readonly text: string })

/** One turn with a model: retries, the ladder of output formats, and repairs are the client's business. */
export interface ModelClient {
  /**
   * Rejects with a `RunFailure` (issues with an empty path are the agent's; its `calls` tell what was tried), or, once
   * the signal aborts, with anything; either way no socket of the call is open by then. `text` in spite of a contract
   * means that the backend gives no structured output while tools are offered: the caller then makes one closing turn
   * without tools.
   */
  turn(request: ModelRequest, watch: ModelWatch): Promise<ModelTurn>
}

/** An expected way for a run to fail: becomes `agent_failed` and `workflow_failed`, never a crash. */
export class RunFailure extends Error {
  readonly error: WireError
  readonly calls: readonly ModelCallRecord[]

  constructor(error: WireError, calls: readonly ModelCallRecord[] = []) {
    super(error.message)
    this.name = "RunFailure"
    this.error = error
    this.calls = calls
  }
}

// ----------------------------------------------------------------------------------------------------------- tools

/** A server of tools as this run reaches it. Secret values are plain here. */
export interface ToolServer {
  readonly name: string
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
}

/** Something imported from a server. */
export interface Imported {
  /** Its name in the workflow. */
  readonly name: string
  readonly server: string
  /** Its name (or URI template) on the server. */
  readonly remote: string
}

export interface ImportedTool extends Imported {
  readonly input: Type | null
  readonly output: Type | null
  readonly pin: string | null
}

export interface HostRequest {
  readonly run_id: string
  readonly servers: readonly ToolServer[]
  readonly types: TypeTable
  readonly tools: readonly ImportedTool[]
  readonly resources: readonly Imported[]
  readonly prompts: readonly Imported[]
}

export interface HostWatch {
  readonly signal: AbortSignal
  /** Called for each server when its lists have been read. */
  connected(server: string, protocol: string, tools: readonly string[], duration_ms: number): void
}

/** What is wrong with a value, at a dotted path below it (empty: the value itself). */
export interface ValueProblem {
  readonly path: string
  readonly message: string
}

export interface HostedTool {
  readonly description: string
  /** JSON Schema of the arguments, as the server publishes it. */
  readonly parameters: JsonObject
  /** Whether a result type is published. */
  readonly typed: boolean
  /** The server says that a repeated call does no harm. */
  readonly idempotent: boolean
  /** Without the nulls that stand for an argument that may be left out, and may not be null. */
  fit(values: JsonObject): JsonObject
  /** `partial`: arguments that are not there are no problem. */
  checkArguments(values: JsonObject, partial?: "partial"): readonly ValueProblem[]
  checkResult(value: JsonValue): readonly ValueProblem[]
}

export interface HostedResource {
  readonly description: string
  /** Variables of its URI template, and those among them without which it cannot be read. */
  readonly variables: readonly string[]
  readonly required: readonly string[]
}

export interface HostedPrompt {
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[]
}

export interface ToolAnswer {
  /** `structuredContent`, where there was any. */
  readonly structured?: JsonValue
  /** The text parts, joined by line breaks. */
  readonly text: string
  /** All parts, in order, where one of them is something else than text. */
  readonly parts?: readonly ToolPart[]
  readonly is_error: boolean
}

/** A piece of a tool's answer. Plain JSON: a workflow may be given it as it is. `url` is a data URL. */
export type ToolPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "image" | "audio" | "file"
      readonly media_type: string
      readonly url: string
      /** Of the resource that it is. */
      readonly uri?: string
    }
  | { readonly type: "resource"; readonly uri: string; readonly media_type: string; readonly text: string }
  | {
      readonly type: "link"
      readonly uri: string
      readonly name: string
      readonly description: string
      readonly media_type: string
    }

export interface ResourceAnswer {
  readonly text: string
  readonly media_type: string | null
}

export interface PromptMessage {
  readonly role: "user" | "assistant"
  readonly text: string
  /** URLs or data URLs of images that belong to the message. */
  readonly images: readonly string[]
}

/**
 * The connections of one run to its servers. Calls reject with a `RunFailure` when the transport fails, or, once the
 * signal aborts, with anything; either way nothing of the call is open by then.
 */
export interface HostSession {
  /** What is wrong with the imports (paths `tool.name…`); those that were not found are in none of the tables. */
  readonly problems: readonly ErrorIssue[]
  readonly tools: ReadonlyMap<string, HostedTool>
  readonly resources: ReadonlyMap<string, HostedResource>
  readonly prompts: ReadonlyMap<string, HostedPrompt>
  /** The run's id and `call_id` go along in `_meta`, so that a server knows a repeated call. */
  call(tool: string, values: JsonObject, call_id: string, signal: AbortSignal): Promise<ToolAnswer>
  read(resource: string, values: JsonObject, signal: AbortSignal): Promise<ResourceAnswer>
  render(prompt: string, values: JsonObject, signal: AbortSignal): Promise<readonly PromptMessage[]>
  close(): Promise<void>
}

export interface ToolHost {
  /**
   * Connects and looks every import up: an unknown name, another pin, a declared type that cannot fit the server's schema
   * are problems of the session. Rejects with a `RunFailure`: `tool_error` for a server that cannot be reached, or
   * `blocked_destination`.
   */
  open(request: HostRequest, watch: HostWatch): Promise<HostSession>
}

// ----------------------------------------------------------------------------------------------------------- store

export type RunStatus = "queued" | "running" | "cancelling" | "completed" | "failed" | "cancelled"

/** What was asked for. All of it is stored encrypted; `secrets` is deleted when the run ends. */
export interface RunRequest {
  readonly source: string
  readonly input: JsonObject
  readonly secrets: JsonObject
  readonly options: RunOptions
}

export interface RunOptions {
  readonly cache_key: string | null
  readonly use_cache: boolean
  readonly max_concurrency: number | null
  readonly timeout_ms: number | null
  readonly deltas: boolean
}

export interface NewRun {
  readonly run_id: string
  /** The key's name that started it; empty without keys. */
  readonly caller: string
  readonly request: RunRequest
  readonly created_at: number
  /** Unique with `caller`; `fingerprint` is that of the request without its secrets. */
  readonly idempotency: Idempotency | null
  /** False for a JSON-mode run without a key: a restart cancels it instead of resuming it. */
  readonly resumable: boolean
}

export interface Idempotency {
  readonly key: string
  readonly fingerprint: string
}

export type CreateOutcome =
  /** Stored, and already claimed by its creator. */
  { readonly outcome: "created"; readonly lease: Lease } | ExistingRun

/** A conflict is the same key with another fingerprint. */
export interface ExistingRun {
  readonly outcome: "exists" | "conflict"
  readonly run_id: string
}

export interface RunRow {
  readonly run_id: string
  readonly caller: string
  readonly created_at: number
  readonly finished_at: number | null
  readonly last_event_id: number
  readonly cancel_requested: boolean
  readonly resumable: boolean
}

/** The right to append to a run's log. The fence grows with each owner; a writer with an old one is refused. */
export interface Lease {
  readonly run_id: string
  readonly owner: string
  readonly fence: number
}

/** Another process took the run over, or it has ended: whoever holds this lease is to drop the run without a word. */
export class LeaseLost extends Error {
  constructor(run_id: string) {
    super(`The lease of run ${run_id} is lost: another process took it over, or it has ended`)
    this.name = "LeaseLost"
  }
}

/** The store cannot do it now (a full disk, a broken connection). The message is a sentence for the operator. */
export class StoreFailure extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = "StoreFailure"
  }
}

export type RunLookup =
  | { readonly found: "run"; readonly run: RunRow }
  /** Deleted by retention. */
  | { readonly found: "expired"; readonly caller: string }
  | { readonly found: "nothing" }

/**
 * Every method that returns a promise may reject with a `StoreFailure`: then nothing of what it asked for has been
 * acknowledged to anyone, and it may work again later. What a resolved promise said is durable.
 */
export interface RunStore {
  /** Idempotent by `run.idempotency`, among the runs of one caller that retention has left. */
  create(run: NewRun, owner: string, lease_ms: number): Promise<CreateOutcome>
  /** What `create` would find under a key; null where it would make a run, which this does not. */
  existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null>
  lookup(run_id: string): Promise<RunLookup>
  /** `secrets` is empty once the run has ended. Rejects with a `StoreFailure` for a run that does not exist. */
  request(run_id: string): Promise<RunRequest>

  /**
   * Appends events whose ids go on from the log's last, all or none; resolves when they are durable. Rejects with
   * `LeaseLost`, or with a `StoreFailure` (also when the ids do not go on from the log's last). Calls need not wait for
   * each other: they are applied in the order in which they were made, and one that follows a failed one fails too. A
   * terminal event is the last of its run: it deletes the secrets and frees the lease.
   */
  append(lease: Lease, events: readonly LogEvent[]): Promise<void>
  /**
   * Events with an id over `after`, at most `limit`, and fewer where they are large: an empty page, not a short one,
   * says that there are no more. `kept` is there only when asked for, and may be gone once the run has ended. Others may
   * be given the same objects.
   */
  read(run_id: string, after: number, limit: number, kept?: "kept"): Promise<LogEvent[]>
  /**
   * Every event after `after`, first stored, then live, each once and in order, until the terminal one or the abort,
   * neither of which throws. Ends at once for a run that does not exist, or has ended by then. Backpressure: nothing is
   * buffered for a reader that does not ask. Others may be given the same objects.
   */
  follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent>

  /** Takes over unfinished runs whose lease has run out (or whose owner is known to be dead), at most `limit`. */
  claim(owner: string, limit: number, lease_ms: number): Promise<Lease[]>
  /** False: lost. */
  renew(lease: Lease, lease_ms: number): Promise<boolean>
  /** Gives an unfinished run back at once, for others to claim; harmless when it is lost already. */
  release(lease: Lease): Promise<void>

  /** Remembers that the run is to stop; `false` when it has ended or does not exist. Repeats are harmless. */
  requestCancel(run_id: string): Promise<boolean>
  /**
   * Calls back once, never before it has returned, when a cancel is (or already was) requested, by whatever process. The
   * result stops listening.
   */
  onCancel(run_id: string, listener: () => void): () => void

  cacheGet(caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined>
  cachePut(caller: string, cache_key: string, hash: string, value: JsonValue, ttl_ms: number): Promise<void>
  /** How many live entries were dropped. */
  cachePurge(caller: string, cache_key: string): Promise<number>

  /**
   * Deletes runs that ended before `ended_before`, and dead cache entries; says how many runs. A tombstone of each
   * stays for a good while.
   */
  sweep(ended_before: number): Promise<number>
  /** Readiness: rejects with a `StoreFailure` when the store can not be written to now. */
  probe(): Promise<void>
  /** Waits for what is under way; followers end. The leases that it still holds are free for others to claim. */
  close(): Promise<void>
}
