import type { JsonValue } from "../base/json-value.ts"
import type { FileAnswer } from "../api/files.ts"
import { openContents, type FileContents } from "./sent-file.ts"

/** A file on disk, as the value of an input field of type `file`. */
export class LocalFile {
  readonly path: string
  readonly options: { readonly name?: string; readonly media_type?: string }

  constructor(path: string, options: { readonly name?: string; readonly media_type?: string } = {}) {
    this.path = path
    this.options = options
  }
}

/** What an input may have besides JSON, in place of a file: the client sends it. */
export type SentValue = Blob | Uint8Array | ReadableStream<Uint8Array> | LocalFile

export type InputValue = JsonValue | SentValue | readonly InputValue[] | GivenInput

/** The input of a workflow. */
export interface GivenInput {
  readonly [field: string]: InputValue | undefined
}

/** Contents with more bytes are sent by themselves, before the run. */
const mostInline = 64 * 1024

export type SendContents = (
  contents: Exclude<FileContents, string>,
  about: { readonly name?: string; readonly media_type?: string },
) => Promise<Pick<FileAnswer, "file_id">>

/** The input with what a service takes in place of a `Blob`, of bytes, of a stream and of a `LocalFile`. The same object where it has none. */
export async function withSentFiles<T>(input: T, send: SendContents): Promise<T> {
  return (await sent(input, send)) as T
}

async function sent(value: unknown, send: SendContents): Promise<unknown> {
  if (typeof value !== "object" || value === null) return value
  if (value instanceof LocalFile) return sentContents(value.path, value.options, send)
  if (value instanceof Blob || value instanceof Uint8Array || value instanceof ReadableStream) {
    return sentContents(value, {}, send)
  }
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (const item of value) items.push(await sent(item, send))
    return items.some((item, at) => item !== value[at]) ? items : value
  }
  const fields: [string, unknown][] = []
  for (const [name, field] of Object.entries(value)) fields.push([name, await sent(field, send)])
  const isSame = fields.every(([name, field]) => field === (value as Record<string, unknown>)[name])
  return isSame ? value : Object.fromEntries(fields)
}

async function sentContents(
  contents: FileContents,
  options: { readonly name?: string; readonly media_type?: string },
  send: SendContents,
): Promise<object> {
  const { body, name, media_type } = await openContents(contents, options)
  const about = { ...(name !== undefined && { name }), ...(media_type !== undefined && { media_type }) }
  const bytes = body instanceof Blob ? body.size : body instanceof Uint8Array ? body.length : Number.POSITIVE_INFINITY
  if (bytes > mostInline) return { file_id: (await send(body, about)).file_id }
  const whole = body instanceof Uint8Array ? body : new Uint8Array(await new Response(body).arrayBuffer())
  let text = ""
  for (const byte of whole) text += String.fromCharCode(byte)
  return { data: btoa(text), ...about }
}
