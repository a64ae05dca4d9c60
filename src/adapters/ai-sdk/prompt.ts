import type { LanguageModelV4FilePart, LanguageModelV4Prompt, LanguageModelV4TextPart } from "@ai-sdk/provider"
import { hash } from "node:crypto"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AssistantPart, FilePart, ImagePart, Message, ProviderData, UserPart } from "../../log/messages.ts"

type UserContent = LanguageModelV4TextPart | LanguageModelV4FilePart
type AssistantContent = Extract<LanguageModelV4Prompt[number], { role: "assistant" }>["content"][number]
type ToolContent = Extract<LanguageModelV4Prompt[number], { role: "tool" }>["content"][number]
type ProviderOptions = LanguageModelV4TextPart["providerOptions"]

export interface PromptOptions {
  readonly system: string | null
  /** The part of provider data that may go back; null for data of another API, endpoint or model. */
  readonly own: (provider: ProviderData) => JsonObject | null
  readonly takesId: (id: string) => boolean
  readonly idLength: number
  /** The options of documents that the API has. */
  readonly documentOptions: readonly string[]
}

/** The conversation in the form that the AI SDK's packages take. */
export function toPrompt(messages: readonly Message[], options: PromptOptions): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = []
  if (options.system !== null) prompt.push({ role: "system", content: options.system })
  const ids = new CallIds(options)
  for (const message of messages) {
    switch (message.role) {
      case "user":
        prompt.push({ role: "user", content: message.parts.map((part) => userContent(part, options)) })
        break
      case "assistant": {
        ids.beginTurn()
        const content = message.parts.flatMap((part) => assistantContent(part, options, ids))
        if (content.length > 0) prompt.push({ role: "assistant", content })
        break
      }
      case "tool": {
        const result: ToolContent = {
          type: "tool-result",
          toolCallId: ids.resultOf(message.call_id),
          toolName: message.name,
          output: { type: "text", value: message.output },
        }
        const last = prompt.at(-1)
        // The results of one turn belong in one message.
        if (last?.role === "tool") last.content.push(result)
        else prompt.push({ role: "tool", content: [result] })
      }
    }
  }
  return prompt
}

function assistantContent(part: AssistantPart, { own }: PromptOptions, ids: CallIds): AssistantContent[] {
  const data = part.provider === undefined ? null : own(part.provider)
  const options = isJsonObject(data?.["options"]) ? { providerOptions: data["options"] as ProviderOptions } : {}
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ type: "text", text: part.text, ...withOptions(options) }]
    case "tool_call":
      return [
        {
          type: "tool-call",
          toolCallId: ids.callOf(part.call_id),
          toolName: part.name,
          input: argumentsOf(part.arguments),
          ...withOptions(options),
        },
      ]
    case "provider": {
      const text = data?.["text"]
      return typeof text === "string" ? [{ type: "reasoning", text, ...withOptions(options) }] : []
    }
  }
}

function withOptions(options: { providerOptions?: ProviderOptions }): {
  providerOptions?: NonNullable<ProviderOptions>
} {
  return options.providerOptions === undefined ? {} : { providerOptions: options.providerOptions }
}

/** Every API but OpenAI's takes arguments as an object only. */
function argumentsOf(text: string): JsonValue {
  try {
    const value = JSON.parse(text === "" ? "{}" : text) as JsonValue
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** Ids of calls as the API takes them: of its own form, and each used once. */
class CallIds {
  readonly #options: PromptOptions
  readonly #used = new Set<string>()
  /** By the id in the history: calls of the latest turn. */
  #turn = new Map<string, string[]>()

  constructor(options: PromptOptions) {
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

function userContent(part: UserPart, { documentOptions }: PromptOptions): UserContent {
  return part.type === "text" ? { type: "text", text: part.text } : fileContent(part, optionsOf(part, documentOptions))
}

/** The options of a document that the API has, in the words of the package for it. */
function optionsOf(
  part: ImagePart | FilePart,
  known: readonly string[],
): { providerOptions?: NonNullable<ProviderOptions> } {
  const { context, citations } = "name" in part ? part : {}
  const options = {
    ...(context !== undefined && known.includes("context") ? { context } : {}),
    ...(citations !== undefined && known.includes("citations") ? { citations: { enabled: true } } : {}),
  }
  return Object.keys(options).length === 0 ? {} : { providerOptions: { anthropic: options } }
}

const assumed = { image: "image/png", document: "application/pdf", video: "video/mp4" } as const

const mediaTypes: Readonly<Record<string, string>> = {
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  mov: "video/quicktime",
  mp4: "video/mp4",
  pdf: "application/pdf",
  png: "image/png",
  txt: "text/plain",
  webm: "video/webm",
  webp: "image/webp",
}

function fileContent(
  part: ImagePart | FilePart,
  options: { providerOptions?: NonNullable<ProviderOptions> },
): UserContent {
  const name = "name" in part ? part.name : null
  const data = /^data:([^;,]*)((?:;[^,]*)?),([^]*)$/i.exec(part.url)
  if (data === null) {
    const extension = /\.(\w+)(?:[?#]|$)/.exec(part.url)?.[1]?.toLowerCase() ?? ""
    const mediaType = mediaTypes[extension] ?? assumed[part.type]
    return {
      type: "file",
      data: { type: "url", url: new URL(part.url) },
      mediaType,
      ...(name !== null && { filename: name }),
      ...options,
    }
  }
  const [, type = "", parameters = "", content = ""] = data
  const mediaType = type === "" ? "text/plain" : type.toLowerCase()
  const isBase64 = /;base64$/i.test(parameters)
  if (isText(mediaType)) {
    const text = isBase64 ? Buffer.from(content, "base64").toString("utf8") : decodeURIComponent(content)
    if (options.providerOptions !== undefined) {
      const data = { type: "text" as const, text }
      return { type: "file", data, mediaType: "text/plain", ...(name !== null && { filename: name }), ...options }
    }
    return { type: "text", text: name === null ? text : `File ${name}:\n${text}` }
  }
  const base64 = isBase64 ? content : Buffer.from(decodeURIComponent(content), "utf8").toString("base64")
  return {
    type: "file",
    data: { type: "data", data: base64 },
    mediaType,
    ...(name !== null && { filename: name }),
    ...options,
  }
}

/** Files of text are sent as text, which every API takes. */
function isText(mediaType: string): boolean {
  return /^text\/|^application\/(?:json|xml|yaml|x-yaml|toml|javascript)$|\+(?:json|xml)$/.test(mediaType)
}
