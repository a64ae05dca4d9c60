import { isJsonObject } from "../../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../../base/json-value.ts"
import type { ChatFields } from "../../../check/program.ts"
import type { ChatFile, ChatMessage, ChatTurn } from "../chat/chat-input.ts"
import { given, wrongField } from "./fields.ts"

export interface ReadMessages {
  readonly turn: ChatTurn
  /** Whether something of the messages has no place in the workflow. */
  readonly ignores: boolean
}

interface Content {
  readonly text: string
  readonly files: readonly ChatFile[]
}

/**
 * The messages of a request, of either API: the last is the user's, those before it are its history, system texts are joined. `param`
 * is the name of the field that holds them.
 */
export function readMessages(
  items: readonly JsonValue[],
  param: "messages" | "input",
  chat: ChatFields,
  instructions: string | null,
): ReadMessages {
  const system: string[] = instructions === null ? [] : [instructions]
  const messages: (ChatMessage & Content)[] = []
  let ignores = false
  for (const [index, item] of items.entries()) {
    const place = `${param}[${index}]`
    if (!isJsonObject(item)) throw wrongField(place, `\`${place}\` must be an object`)
    const role = roleOf(item, place)
    if (role === null) {
      ignores = true
      continue
    }
    const content = readContent(given(item, "content"), place)
    if (role === "system") {
      if (chat.system === undefined) ignores = true
      system.push(content.text)
    } else messages.push({ role, ...content })
  }
  const last = messages.pop()
  const isLast = items.at(-1)
  if (last?.role !== "user" || (isJsonObject(isLast) && isLast["role"] !== "user")) {
    throw wrongField(param, `The last of \`${param}\` must be a message of the user`)
  }
  if (messages.length > 0 && chat.history === undefined) ignores = true
  // The history has no place for files.
  if (messages.some(({ files }) => files.length > 0)) ignores = true
  if (last.files.length > 0 && chat.files === undefined) ignores = true
  const turn = {
    message: last.text,
    history: messages.map(({ role, text }) => ({ role, text })),
    system: system.length === 0 ? null : system.join("\n\n"),
    files: last.files,
  }
  return { turn, ignores }
}

/** Null for items that are no messages of a conversation: tool calls, their results, reasoning. */
function roleOf(item: JsonObject, place: string): "user" | "assistant" | "system" | null {
  const type = given(item, "type")
  if (type !== undefined && type !== "message") return null
  switch (item["role"]) {
    case "user":
    case "assistant":
      return item["role"]
    case "system":
    case "developer":
      return "system"
    case "tool":
    case "function":
      return null
    default:
      throw wrongField(`${place}.role`, `\`${place}.role\` must be one of system, developer, user, assistant`)
  }
}

function readContent(content: JsonValue | undefined, place: string): Content {
  // A message of an assistant that only called tools has none.
  if (content === undefined) return { text: "", files: [] }
  if (typeof content === "string") return { text: content, files: [] }
  if (!Array.isArray(content)) throw wrongField(`${place}.content`, `\`${place}.content\` must be a string or a list`)
  const texts: string[] = []
  const files: ChatFile[] = []
  for (const [index, part] of content.entries()) readPart(part, `${place}.content[${index}]`, texts, files)
  return { text: texts.join("\n"), files }
}

function readPart(part: JsonValue, place: string, texts: string[], files: ChatFile[]): void {
  if (!isJsonObject(part)) throw wrongField(place, `\`${place}\` must be an object`)
  const type = textOf(part["type"], `${place}.type`)
  switch (type) {
    case "text":
    case "input_text":
    case "output_text":
      return void texts.push(textOf(part["text"], `${place}.text`))
    case "refusal":
      return void texts.push(textOf(part["refusal"], `${place}.refusal`))
    case "image_url": {
      const image = part["image_url"]
      return void files.push(byUrl(isJsonObject(image) ? image["url"] : image, `${place}.image_url`))
    }
    case "input_image":
      return void files.push(byId(part, place) ?? byUrl(part["image_url"], `${place}.image_url`))
    case "file": {
      const file = part["file"]
      if (!isJsonObject(file)) throw wrongField(`${place}.file`, `\`${place}.file\` must be an object`)
      return void files.push(byId(file, `${place}.file`) ?? byUrl(file["file_data"], `${place}.file.file_data`, file))
    }
    case "input_file": {
      const url = given(part, "file_url") ?? part["file_data"]
      return void files.push(byId(part, place) ?? byUrl(url, `${place}.file_data`, part))
    }
    case "input_audio":
      return void files.push(audioIn(part["input_audio"], `${place}.input_audio`))
    default:
      throw wrongField(`${place}.type`, `\`${type.slice(0, 50)}\` is not a kind of content that a workflow takes`)
  }
}

function textOf(text: JsonValue | undefined, place: string): string {
  if (typeof text === "string") return text
  throw wrongField(place, `\`${place}\` must be a string`)
}

/** A file that this service keeps; null where the part names none. */
function byId(part: JsonObject, place: string): ChatFile | null {
  const file_id = given(part, "file_id")
  return file_id === undefined ? null : { place: `${place}.file_id`, file_id: textOf(file_id, `${place}.file_id`) }
}

/** `named`: has the name of the file. */
function byUrl(url: JsonValue | undefined, place: string, named: JsonObject = {}): ChatFile {
  if (typeof url !== "string" || !/^(?:data:|https:\/\/)/i.test(url))
    throw wrongField(place, `\`${place}\` must be a data: or https: URL`)
  const name = given(named, "filename")
  return { place, url, name: typeof name === "string" ? name : null }
}

function audioIn(audio: JsonValue | undefined, place: string): ChatFile {
  if (!isJsonObject(audio)) throw wrongField(place, `\`${place}\` must be an object`)
  const data = textOf(audio["data"], `${place}.data`)
  const format = textOf(audio["format"], `${place}.format`)
  if (format !== "wav" && format !== "mp3")
    throw wrongField(`${place}.format`, `\`${place}.format\` must be wav or mp3`)
  return { place, url: `data:audio/${format === "mp3" ? "mpeg" : "wav"};base64,${data}`, name: null }
}
