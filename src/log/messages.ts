import type { JsonObject } from "../base/json-value.ts"

/**
 * A conversation with a model, in no provider's words: what one model has said, a model of another provider can continue.
 * Adapters turn messages into the format of their API and answers into messages. These are also what the log and the cache
 * keep, so a change of shape needs a new version in `run/log/stored-messages.ts`.
 */
export type Message = UserMessage | AssistantMessage | ToolMessage

export interface UserMessage {
  readonly role: "user"
  readonly parts: readonly UserPart[]
}

export interface AssistantMessage {
  readonly role: "assistant"
  readonly parts: readonly AssistantPart[]
}

/** The result of one tool call. The results of one turn follow the assistant's message in the order of its calls. */
export interface ToolMessage {
  readonly role: "tool"
  readonly call_id: string
  readonly name: string
  readonly output: string
}

export type UserPart = TextPart | ImagePart | FilePart

export interface TextPart {
  readonly type: "text"
  readonly text: string
}

export interface ImagePart {
  readonly type: "image"
  /** An http(s) URL, a data URL, or the address of a file of the service. */
  readonly url: string
  readonly stored?: StoredContents
}

/** A file of the service. Its contents take the place of the address when a model is called, and are kept nowhere else. */
export type StoredContents = {
  readonly media_type: string
  readonly bytes: number
  readonly sha256: string
}

export interface FilePart {
  readonly type: "document" | "video" | "audio"
  /** An http(s) URL, a data URL, or the address of a file of the service. */
  readonly url: string
  readonly stored?: StoredContents
  /** Null: the adapter makes one up where its API wants one. */
  readonly name: string | null
  /** The author's description, and whether answers cite the document: for APIs with such options. Absent where the author sets none. */
  readonly context?: string
  readonly citations?: true
}

export type AssistantPart = AssistantText | ToolCallPart | ProviderPart

export interface AssistantText extends TextPart {
  readonly provider?: ProviderData
}

export interface ToolCallPart {
  readonly type: "tool_call"
  /** The provider's own id; an adapter maps it where its API takes other ids. */
  readonly call_id: string
  readonly name: string
  /** JSON text as the model wrote it. */
  readonly arguments: string
  readonly provider?: ProviderData
}

/** A part of an answer that means nothing to other providers: reasoning, for example. */
export interface ProviderPart {
  readonly type: "provider"
  readonly provider: ProviderData
}

/** Ids, signatures, encrypted reasoning. Only the adapter of this API reads it, for the endpoint and model that made it. */
export interface ProviderData {
  /** The API that the adapter speaks: `responses`. */
  readonly api: string
  /** Identifies the endpoint and the model without revealing them. */
  readonly origin: string
  readonly data: JsonObject
}

export function userText(text: string): UserMessage {
  return { role: "user", parts: [{ type: "text", text }] }
}

export function assistantText(text: string): AssistantMessage {
  return { role: "assistant", parts: [{ type: "text", text }] }
}

export interface ModelToolCall {
  readonly call_id: string
  readonly name: string
  /** JSON text as the model wrote it. */
  readonly arguments: string
}

/** A piece of a tool's answer. Plain JSON: a workflow may be given it as it is. `url` is a data URL. */
export type ToolPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "image" | "audio" | "file"
      readonly media_type: string
      readonly url: string
      /** The URI of the resource, if it is one. */
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

export interface PromptMessage {
  readonly role: "user" | "assistant"
  readonly text: string
  /** URLs or data URLs of images that belong to the message. */
  readonly images: readonly string[]
}
