import { hash } from "node:crypto"
import { jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { AssistantPart, FilePart, ImagePart, Message, ProviderData, UserPart } from "../../log/messages.ts"

// A conversation as every API sends it: calls have ids that the API takes, files are read, and the results of a turn are together.

export type Turn =
  | { readonly role: "user"; readonly parts: readonly (SaidText | Attachment)[] }
  | { readonly role: "assistant"; readonly parts: readonly (SaidText | Reasoning | Hosted | SentCall)[] }
  | { readonly role: "tool"; readonly results: SentResult[] }

/** `own`: what the API added to it when it said it, under the API's name. */
export interface SaidText {
  readonly type: "text"
  readonly text: string
  readonly own?: JsonObject
}

export interface Reasoning {
  readonly type: "reasoning"
  readonly text: string
  readonly own?: JsonObject
}

/** The work of a tool that the provider hosts, as its API said it. */
export interface Hosted {
  readonly type: "hosted"
  readonly block: JsonObject
}

export interface SentCall {
  readonly type: "call"
  readonly id: string
  readonly name: string
  readonly arguments: JsonObject
  readonly own?: JsonObject
}

export interface SentResult {
  readonly id: string
  readonly name: string
  readonly output: string
}

export interface Attachment {
  readonly type: "file"
  readonly media_type: string
  readonly content: { readonly url: string } | { readonly base64: string } | { readonly text: string }
  readonly name: string | null
  readonly context?: string
  readonly citations?: true
}

export interface ConversationOptions {
  /** The part of provider data that may go back; null for data of another API, endpoint or model. */
  readonly own: (provider: ProviderData) => JsonObject | null
  readonly takesId: (id: string) => boolean
  readonly idLength: number
  /** The options of documents that the API has. */
  readonly documentOptions: readonly string[]
}

export function toTurns(messages: readonly Message[], options: ConversationOptions): Turn[] {
  const turns: Turn[] = []
  const ids = new CallIds(options)
  for (const message of messages) {
    switch (message.role) {
      case "user":
        turns.push({ role: "user", parts: message.parts.map((part) => userPart(part, options)) })
        break
      case "assistant": {
        ids.beginTurn()
        const parts = message.parts.flatMap((part) => assistantPart(part, options, ids))
        if (parts.length > 0) turns.push({ role: "assistant", parts })
        break
      }
      case "tool": {
        const result = { id: ids.resultOf(message.call_id), name: message.name, output: message.output }
        const last = turns.at(-1)
        if (last?.role === "tool") last.results.push(result)
        else turns.push({ role: "tool", results: [result] })
      }
    }
  }
  return turns
}

function assistantPart(
  part: AssistantPart,
  { own }: ConversationOptions,
  ids: CallIds,
): (SaidText | Reasoning | Hosted | SentCall)[] {
  const data = part.provider === undefined ? null : own(part.provider)
  const added = isJsonObject(data?.["options"]) ? { own: data["options"] } : {}
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ type: "text", text: part.text, ...added }]
    case "tool_call": {
      const { name } = part
      return [{ type: "call", id: ids.callOf(part.call_id), name, arguments: argumentsOf(part.arguments), ...added }]
    }
    case "provider": {
      if (isJsonObject(data?.["block"])) return [{ type: "hosted", block: data["block"] }]
      const text = data?.["text"]
      return typeof text === "string" ? [{ type: "reasoning", text, ...added }] : []
    }
  }
}

/** What this API added to a part, one field of it. */
export function ownText(part: { readonly own?: JsonObject }, api: string, field: string): string | null {
  const own = part.own?.[api]
  const value = isJsonObject(own) ? own[field] : undefined
  return typeof value === "string" ? value : null
}

/** Every API but OpenAI's takes arguments as an object only. */
function argumentsOf(text: string): JsonObject {
  const value = jsonOf(text)
  return isJsonObject(value) ? value : {}
}

/** Ids of calls as the API takes them: of its own form, and each used once. */
class CallIds {
  readonly #options: ConversationOptions
  readonly #used = new Set<string>()
  /** By the id in the history: calls of the latest turn. */
  #turn = new Map<string, string[]>()

  constructor(options: ConversationOptions) {
    this.#options = options
  }

  beginTurn(): void {
    this.#turn = new Map()
  }

  callOf(id: string): string {
    let sent = id
    for (let count = 0; this.#used.has(sent) || !this.#options.takesId(sent); count++) {
      const digest = hash("sha256", `${id}\n${this.#used.size}\n${count}`)
      sent = `call${digest}`.slice(0, this.#options.idLength)
    }
    this.#used.add(sent)
    this.#turn.set(id, [...(this.#turn.get(id) ?? []), sent])
    return sent
  }

  resultOf(id: string): string {
    const sent = this.#turn.get(id)
    return (sent !== undefined && sent.length > 1 ? sent.shift() : sent?.[0]) ?? id
  }
}

function userPart(part: UserPart, { documentOptions }: ConversationOptions): SaidText | Attachment {
  return part.type === "text" ? { type: "text", text: part.text } : filePart(part, optionsOf(part, documentOptions))
}

type DocumentOptions = Pick<Attachment, "context" | "citations">

/** The options of a document that the API has. */
function optionsOf(part: ImagePart | FilePart, known: readonly string[]): DocumentOptions {
  const { context, citations } = "name" in part ? part : {}
  return {
    ...(context !== undefined && known.includes("context") ? { context } : {}),
    ...(citations !== undefined && known.includes("citations") ? { citations: true } : {}),
  }
}

const assumed = {
  image: "image/png",
  document: "application/pdf",
  video: "video/mp4",
  audio: "audio/wav",
} as const

const mediaTypes: Readonly<Record<string, string>> = {
  aac: "audio/aac",
  aiff: "audio/aiff",
  flac: "audio/flac",
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  m4a: "audio/mp4",
  mov: "video/quicktime",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  oga: "audio/ogg",
  ogg: "audio/ogg",
  opus: "audio/ogg",
  pdf: "application/pdf",
  png: "image/png",
  txt: "text/plain",
  wav: "audio/wav",
  webm: "video/webm",
  webp: "image/webp",
}

function filePart(part: ImagePart | FilePart, options: DocumentOptions): SaidText | Attachment {
  const name = "name" in part ? part.name : null
  const data = /^data:([^;,]*)((?:;[^,]*)?),([^]*)$/i.exec(part.url)
  if (data === null) {
    const extension = /\.(\w+)(?:[?#]|$)/.exec(part.url)?.[1]?.toLowerCase() ?? ""
    const media_type = mediaTypes[extension] ?? assumed[part.type]
    return { type: "file", media_type, content: { url: new URL(part.url).href }, name, ...options }
  }
  const [, type = "", parameters = "", content = ""] = data
  const media_type = type === "" ? "text/plain" : type.toLowerCase()
  const isBase64 = /;base64$/i.test(parameters)
  if (isText(media_type)) {
    const text = isBase64 ? Buffer.from(content, "base64").toString("utf8") : decodeURIComponent(content)
    if (Object.keys(options).length > 0) {
      return { type: "file", media_type: "text/plain", content: { text }, name, ...options }
    }
    return { type: "text", text: name === null ? text : `File ${name}:\n${text}` }
  }
  const base64 = isBase64 ? content : Buffer.from(decodeURIComponent(content), "utf8").toString("base64")
  return { type: "file", media_type, content: { base64 }, name, ...options }
}

/** Files of text are sent as text, which every API takes. */
function isText(mediaType: string): boolean {
  return /^text\/|^application\/(?:json|xml|yaml|x-yaml|toml|javascript)$|\+(?:json|xml)$/.test(mediaType)
}
