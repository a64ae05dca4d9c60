import type { JsonObject, JsonValue } from "../../../base/json-value.ts"
import type { ChatFields } from "../../../check/program.ts"
import type { Plan } from "../../../plan/plan-shape.ts"
import { wireError } from "../../../ports/run-failure.ts"
import { holdsFile } from "../../../types/holds-file.ts"
import { nullable, resolve, withoutNull } from "../../../types/relations.ts"
import type { Field } from "../../../types/types.ts"
import { validateValue } from "../../../types/validate-value.ts"
import { HttpError, refuse } from "../../http-error.ts"

export interface ChatMessage {
  readonly role: "user" | "assistant"
  readonly text: string
}

/** The client's message to a workflow. */
export interface ChatTurn {
  readonly message: string
  readonly history: readonly ChatMessage[]
  readonly system: string | null
  readonly files: readonly ChatFile[]
}

/** A file of a message: by a `data:` or `https:` URL, or by the id that it has in this service. */
export type ChatFile = {
  /** Where the request has it. */
  readonly place: string
} & ({ readonly url: string; readonly name: string | null } | { readonly file_id: string })

/** The input of a run that answers the turn. `others`: the input fields that are not part of the conversation. */
export function inputOf(
  { input, types }: Plan,
  { message, history, system, files }: ChatFields,
  turn: ChatTurn,
  others: JsonObject,
): JsonObject {
  const given = input.fields.find(({ name }) => name === files)
  const takesFiles = given !== undefined && holdsFile(given.type, types)
  return {
    ...others,
    [message]: turn.message,
    ...(history === undefined ? {} : { [history]: turn.history.map(({ role, text }) => ({ role, text })) }),
    ...(system === undefined ? {} : { [system]: turn.system }),
    ...(files === undefined ? {} : { [files]: turn.files.map((file) => fileOf(file, takesFiles)) }),
  }
}

/** The value of an input field of type `file`, or the URL for one that takes strings. */
function fileOf(file: ChatFile, takesFiles: boolean): JsonValue {
  if ("file_id" in file) {
    if (takesFiles) return { file_id: file.file_id }
    const message = "The workflow takes the addresses of files as strings: send a data: or https: URL"
    throw refuse("invalid_request", message, [{ path: file.place, message, code: "invalid_request_error" }])
  }
  const { url, name } = file
  if (!takesFiles) return url
  if (!/^data:/i.test(url)) return { url }
  const [head, media_type = ""] =
    name === null ? [] : (/^data:([^,;]*)(?:;[^,;]*)*;base64,/i.exec(url.slice(0, 1024)) ?? [])
  if (head === undefined) return url
  return { data: url.slice(head.length), name, ...(media_type !== "" && { media_type }) }
}

/** The input fields that are not part of the conversation. */
export function otherFields({ input }: Plan, chat: ChatFields): readonly Field[] {
  const { message, history, system, files } = chat
  return input.fields.filter(({ name }) => ![message, history, system, files].includes(name))
}

/** The other input fields from the texts of the request's `metadata`. */
export function othersFromTexts(plan: Plan, chat: ChatFields, metadata: Readonly<Record<string, string>>): JsonObject {
  const values: Record<string, JsonValue> = {}
  for (const field of otherFields(plan, chat)) {
    const path = `metadata.${field.name}`
    const text = Object.hasOwn(metadata, field.name) ? metadata[field.name] : undefined
    if (text === undefined) {
      if (!nullable(field.type, plan.types)) throw misfit(path, `\`${path}\` is missing: the workflow needs it`)
      values[field.name] = null
      continue
    }
    const value = readText(plan, field, text)
    const [first] = validateValue(value, field.type, plan.types, path, { most: 1 })
    if (first !== undefined) throw misfit(path, first.message)
    values[field.name] = value
  }
  return values
}

/** A text as its field wants it; the text itself where it cannot be read so, which then does not fit. */
function readText({ types }: Plan, { type }: Field, text: string): JsonValue {
  const plain = resolve(withoutNull(type, types), types)
  switch (plain.kind) {
    case "number":
    case "integer":
      return /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : text
    case "boolean":
      return text === "true" || text === "false" ? text === "true" : text
    default:
      return text
  }
}

function misfit(path: string, message: string): HttpError {
  return new HttpError(wireError("input_error", [{ path, message }]))
}
