import type { HttpToolPlan } from "../plan/plan-shape.ts"
import type { PromptMessage, ToolPart } from "../log/messages.ts"
import type { Arrivals } from "./egress.ts"
import type { Gate } from "./gate.ts"
import type { SentRequest } from "./sent-request.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { ErrorIssue } from "../log/events.ts"
import type { Type, TypeTable } from "../types/types.ts"

/** A server of tools as this run reaches it. Secret values are plain here. */
export interface ToolServer {
  readonly name: string
  readonly endpoint: string
  /** The same with secrets by name, where it holds any. */
  readonly shownEndpoint?: string
  readonly headers: Readonly<Record<string, string>>
  readonly auth?: ServerAuth
  /** It may ask people during a call of a tool. */
  readonly elicitation?: true
  /** Secrets are among the arguments that the workflow gives: no request goes on to another origin. */
  readonly secretBodies?: boolean
}

/** OAuth client credentials. A client has a secret or a key. */
export interface ServerAuth {
  readonly issuer: string | null
  readonly token_endpoint: string | null
  readonly client_id: string
  readonly client_secret: string | null
  readonly private_key: string | null
  readonly key_id: string | null
  readonly algorithm: string | null
  readonly scopes: readonly string[]
  readonly audience: string | null
  readonly resource: string | null
  readonly client_auth: "basic" | "post"
}

/** An HTTP API as this run reaches it. */
export interface ApiServer extends ToolServer {
  /** Time for each attempt. */
  readonly timeoutMs: number
  readonly max_retries: number
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
  /** Arguments that the workflow names, and that the tool must have. */
  readonly requires?: readonly string[]
  /** For a tool of an api. */
  readonly http?: ImportedHttp
}

export interface ImportedHttp extends HttpToolPlan {
  readonly description: string | null
  /** A POST or PATCH is sent with a key by which its receiver knows a repeated one. */
  readonly idempotent: boolean
}

export interface HostRequest {
  readonly run_id: string
  /** The caller, and the workflow of the server's folder: tokens are kept for each of them apart. */
  readonly owner: readonly (string | null)[]
  readonly servers: readonly ToolServer[]
  readonly apis: readonly ApiServer[]
  readonly types: TypeTable
  readonly tools: readonly ImportedTool[]
  readonly resources: readonly Imported[]
  readonly prompts: readonly Imported[]
}

export interface HostWatch {
  readonly signal: AbortSignal
  /** Passed right before every request that the session makes. */
  readonly gate: Gate
  /** Called with a token that a server gave, before it is used: it must not be shown. */
  readonly hide: (token: string) => void
  /** Count what has arrived of each answer. */
  readonly arrivals?: Arrivals
  /** Absent where requests are not kept. */
  readonly requests?: CallRequests
  /** Called for each server when its lists have been read. */
  connected(server: string, protocol: string, tools: readonly string[], duration_ms: number): void
}

/** Hears of the requests of tool calls. */
export interface CallRequests {
  /** The arguments of a call with secrets by name; undefined where they hold none. */
  shownArguments(call_id: string): JsonObject | undefined
  /** Called with each request right before it is sent, and with the same one without secrets where its address or arguments hold any. */
  sent(call_id: string, request: SentRequest, shown?: ShownRequest): void
}

/** What may be seen of a request that holds secrets. */
export interface ShownRequest {
  readonly url: string
  readonly body: string
}

/** A problem of a value, at a dotted path below it (empty: the value itself). */
export interface ValueProblem {
  readonly path: string
  readonly message: string
}

export interface HostedTool {
  /** The definition that its server published when the session opened, without `_meta`: a pin is made of it. */
  readonly definition: JsonObject
  readonly description: string
  /** JSON Schema of the arguments, as the server publishes it. */
  readonly parameters: JsonObject
  /** Whether a result type is published, and its JSON Schema where the host has it. */
  readonly typed: boolean
  readonly result?: JsonObject
  /** The server says that a repeated call does no harm. */
  readonly idempotent: boolean
  /** The host itself tries again what failed in passing. */
  readonly retries?: true
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
  /** The answer of an api. */
  readonly http?: HttpAnswer
  /** It holds names of headers, which are in lower case, whatever the server wrote. */
  readonly isLowerCase?: true
  /** What the author should know of an error: it stays whole where `text` is cut. */
  readonly advice?: string
  /** The server asks people first; the rest of the answer is empty. */
  readonly asks?: ServerAsk
}

/** What a server wants to know before it answers a call. */
export interface ServerAsk {
  readonly entries: readonly ServerQuestion[]
  /** For the server alone: it is sent back to the letter. */
  readonly state: string | null
}

export interface ServerQuestion {
  /** The server's name of it. */
  readonly key: string
  readonly message: string
  /** JSON Schema of what it asks for; null where it wants a person to open `url`. */
  readonly schema: JsonObject | null
  readonly url: string | null
}

/** The call is made once more, with what people said. */
export interface AskReply {
  /** By the server's names. */
  readonly responses: JsonObject
  readonly state: string | null
}

export interface HttpAnswer {
  readonly method: string
  readonly status: number
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
  call(tool: string, values: JsonObject, call_id: string, signal: AbortSignal, reply?: AskReply): Promise<ToolAnswer>
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
