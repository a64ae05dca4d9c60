import { isJsonObject } from "../../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../../base/json-value.ts"
import { nullable } from "../../../types/relations.ts"
import type { ChatFields } from "../../../check/program.ts"
import type { Plan } from "../../../plan/plan-shape.ts"
import { refuseAt, type HttpError } from "../../http-error.ts"
import { otherFields, type ChatFile, type ChatMessage, type ChatTurn } from "../chat/chat-input.ts"

export interface AgUiRequest {
  readonly threadId: string
  readonly runId: string
  readonly messages: readonly JsonValue[]
  readonly forwardedProps?: JsonValue
  readonly resume?: readonly JsonValue[] | null
}

/** An answer to an interrupt of an earlier request. */
export interface Resume {
  readonly run_id: string
  readonly question: string
  readonly status: "resolved" | "cancelled"
  readonly payload: JsonValue
  readonly digest: string | null
}

/** The messages of a request. The last of the user's counts; what came after it is of no interest to a workflow. */
export function readTurn({ messages }: AgUiRequest): ChatTurn {
  const system: string[] = []
  const said: (ChatMessage & { readonly files: readonly ChatFile[] })[] = []
  for (const [index, message] of messages.entries()) {
    const place = `messages[${index}]`
    if (!isJsonObject(message)) throw wrong(place, `\`${place}\` must be an object`)
    const { role } = message
    if (role !== "user" && role !== "assistant" && role !== "system" && role !== "developer") continue
    const { text, files } = readContent(message["content"], `${place}.content`)
    if (role === "user" || role === "assistant") said.push({ role, text, files })
    else system.push(text)
  }
  const at = said.findLastIndex(({ role }) => role === "user")
  const last = said[at]
  if (last === undefined) throw wrong("messages", "`messages` has no message of the user")
  return {
    message: last.text,
    files: last.files,
    history: said.slice(0, at).map(({ role, text }) => ({ role, text })),
    system: system.length === 0 ? null : system.join("\n\n"),
  }
}

function readContent(content: JsonValue | undefined, place: string): { text: string; files: readonly ChatFile[] } {
  if (content === undefined || content === null) return { text: "", files: [] }
  if (typeof content === "string") return { text: content, files: [] }
  if (!Array.isArray(content)) throw wrong(place, `\`${place}\` must be a string or a list`)
  const texts: string[] = []
  const files: ChatFile[] = []
  for (const [index, part] of content.entries()) {
    if (!isJsonObject(part)) throw wrong(`${place}[${index}]`, `\`${place}[${index}]\` must be an object`)
    if (part["type"] === "text" && typeof part["text"] === "string") texts.push(part["text"])
    else files.push(fileIn(part["source"], `${place}[${index}].source`))
  }
  return { text: texts.join("\n"), files }
}

function fileIn(source: JsonValue | undefined, place: string): ChatFile {
  return { place, url: urlOf(source, place), name: null }
}

function urlOf(source: JsonValue | undefined, place: string): string {
  if (isJsonObject(source) && typeof source["value"] === "string") {
    const { type, value, mimeType } = source
    if (type === "data") return `data:${typeof mimeType === "string" ? mimeType : ""};base64,${value}`
    if (type === "url" && /^(?:data:|https:\/\/)/i.test(value)) return value
  }
  throw wrong(place, `\`${place}\` must be data, or a data: or https: URL`)
}

/** The input fields that are not part of the conversation: as they are, and null where they may be left out. */
export function othersFrom(plan: Plan, chat: ChatFields, { forwardedProps }: AgUiRequest): JsonObject {
  const given = isJsonObject(forwardedProps) && isJsonObject(forwardedProps["input"]) ? forwardedProps["input"] : {}
  const { message, history, system, files } = chat
  const values: Record<string, JsonValue> = Object.fromEntries(
    Object.entries(given).filter(([name]) => ![message, history, system, files].includes(name)),
  )
  for (const { name, type } of otherFields(plan, chat)) {
    if (values[name] === undefined && nullable(type, plan.types)) values[name] = null
  }
  return values
}

/** Answers to interrupts; all belong to one run. */
export function readResumes({ resume }: AgUiRequest): readonly Resume[] {
  return (resume ?? []).map((entry, index) => {
    const place = `resume[${index}]`
    if (!isJsonObject(entry)) throw wrong(place, `\`${place}\` must be an object`)
    const { interruptId, status, payload = null, metadata } = entry
    const [, run_id = "", question = ""] =
      /^([^/]+)\/(.+)$/.exec(typeof interruptId === "string" ? interruptId : "") ?? []
    if (run_id === "") throw wrong(`${place}.interruptId`, `\`${place}.interruptId\` must be the id of an interrupt`)
    if (status !== "resolved" && status !== "cancelled") {
      throw wrong(`${place}.status`, `\`${place}.status\` must be resolved or cancelled`)
    }
    const digest = isJsonObject(metadata) && typeof metadata["digest"] === "string" ? metadata["digest"] : null
    return { run_id, question, status, payload, digest }
  })
}

function wrong(path: string, message: string): HttpError {
  return refuseAt("invalid_request", path, message)
}
