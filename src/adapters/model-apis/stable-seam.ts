import { Buffer } from "node:buffer"
import { randomBytes } from "node:crypto"
import type { AssistantPart, Message, UserPart } from "../../log/messages.ts"
import type { ModelRequest } from "../../ports/model.ts"

// Where the stable part of a prompt ends is known in messages, and wanted in a body: the texts of a request get a seam there, which is taken out again.

/** Nobody can know it, so it stands in no text. */
const seam = randomBytes(16).toString("hex")

/** The request with a seam at the end of its stable part, where a text ends or begins there. */
export function withSeam(request: ModelRequest): ModelRequest {
  const { cache, system, input } = request
  if (cache === undefined) return request
  const { stable } = cache
  if (system !== null && stable.system !== null) return { ...request, system: inserted(system, stable.system) }
  const { messages, parts, characters } = stable
  const next = input[messages]
  const begins = next?.role === "user" && next.parts[parts]?.type === "text"
  // Where all of a prompt is kept, what the API writes between two texts is kept too.
  if (characters === 0 && begins && request.backend.api !== "anthropic") {
    return { ...request, input: input.with(messages, seamed(next, parts, 0)) }
  }
  if (system !== null && messages + parts + characters === 0) return { ...request, system: `${system}${seam}` }
  const own = next?.role === "user" ? next.parts : []
  const before = parts > 0 ? undefined : input[messages - 1]
  if (characters === 0 && before?.role === "tool") {
    return { ...request, input: input.with(messages - 1, { ...before, output: `${before.output}${seam}` }) }
  }
  const last: UserPart | AssistantPart | undefined = parts > 0 ? own[parts - 1] : partsOf(before).at(-1)
  const place =
    characters === 0 && last?.type === "text"
      ? { at: parts > 0 ? messages : messages - 1, part: parts > 0 ? parts - 1 : -1, offset: last.text.length }
      : { at: messages, part: parts, offset: characters }
  const marked = input.map((message, at) => (at === place.at ? seamed(message, place.part, place.offset) : message))
  return { ...request, input: marked }
}

function partsOf(message: Message | undefined): readonly (UserPart | AssistantPart)[] {
  return message === undefined || message.role === "tool" ? [] : message.parts
}

function seamed(message: Message, part: number, offset: number): Message {
  const sew = <Part extends UserPart | AssistantPart>(parts: readonly Part[]): Part[] => {
    const at = part < 0 ? parts.length - 1 : part
    return parts.map((one, index) =>
      index === at && one.type === "text" ? { ...one, text: inserted(one.text, offset) } : one,
    )
  }
  if (message.role === "user") return { ...message, parts: sew(message.parts) }
  return message.role === "assistant" ? { ...message, parts: sew(message.parts) } : message
}

function inserted(text: string, offset: number): string {
  return `${text.slice(0, offset)}${seam}${text.slice(offset)}`
}

/** A text before and after the seam in it, the seam in the first; null where there is none. */
export function cutAtSeam(
  text: string,
): { readonly head: string; readonly tail: string; readonly isEmpty: boolean } | null {
  const at = text.indexOf(seam)
  if (at < 0) return null
  const head = text.slice(0, at + seam.length)
  return { head, tail: text.slice(head.length), isEmpty: text.slice(0, at).trim() === "" }
}

/** A body as it is sent, and the bytes of it up to the seam; null where it has none. */
export function withoutSeam(body: string): { readonly body: string; readonly stable_bytes: number | null } {
  const at = body.indexOf(seam)
  if (at < 0) return { body, stable_bytes: null }
  return { body: body.slice(0, at) + body.slice(at + seam.length), stable_bytes: Buffer.byteLength(body.slice(0, at)) }
}
