import type { PromptMessage, ToolPart } from "../log/messages.ts"
import type { Gate } from "./gate.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { ErrorIssue } from "../log/events.ts"
import type { Type, TypeTable } from "../types/types.ts"

/** A server of tools as this run reaches it. Secret values are plain here. */
export interface ToolServer {
  readonly name: string
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** Secrets are among the arguments that the workflow gives: no request goes on to another origin. */
  readonly secret_bodies?: boolean
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
  /** Passed right before every request that the session makes. */
  readonly gate: Gate
  /** Called for each server when its lists have been read. */
  connected(server: string, protocol: string, tools: readonly string[], duration_ms: number): void
}

/** A problem of a value, at a dotted path below it (empty: the value itself). */
export interface ValueProblem {
  readonly path: string
  readonly message: string
}

export interface HostedTool {
  /** As its server published it when the session opened, without `_meta`: what a pin is made of. */
  readonly definition: JsonObject
  readonly description: string
  /** JSON Schema of the arguments, as the server publishes it. */
  readonly parameters: JsonObject
  /** Whether a result type is published, and its JSON Schema where the host has it. */
  readonly typed: boolean
  readonly result?: JsonObject
  /** The server says that a repeated call does no harm. */
  readonly idempotent: boolean
  /** Without the nulls that stand for an argument that may be left out, and may not be null. */
  fit(values: JsonObject): JsonObject
  /** `partial`: missing arguments are not a problem. */
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

export interface ResourceAnswer {
  readonly text: string
  readonly media_type: string | null
}

/**
 * The connections of one run to its servers. Calls reject with a `RunFailure` when the transport fails, or, once the
 * signal aborts, with anything; either way nothing of the call is open by then.
 */
export interface HostSession {
  /** The problems of the imports (paths `tool.name…`); imports that were not found are in none of the tables. */
  readonly problems: readonly ErrorIssue[]
  readonly tools: ReadonlyMap<string, HostedTool>
  readonly resources: ReadonlyMap<string, HostedResource>
  readonly prompts: ReadonlyMap<string, HostedPrompt>
  /** The definition of a tool as its server publishes it now; null for one that it no longer has. */
  published(tool: string, signal: AbortSignal): Promise<JsonObject | null>
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
