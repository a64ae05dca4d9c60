import { boundedJson } from "../../base/bounded-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { readTolerantJson } from "./tolerant-json.ts"
import { modelTextWork } from "../../base/limits.ts"

/** What an answer's text holds. */
export interface LenientAnswer {
  /** The JSON values that may be the answer, the likeliest first; none when there is no JSON, or only a broken piece. */
  readonly candidates: readonly JsonValue[]
  /** The text is one JSON value and nothing else. */
  readonly bare: boolean
  /** Begins like JSON or a code fence, so that it cannot be meant as plain text. */
  readonly likeJson: boolean
  /** Why there is no candidate. */
  readonly trouble: "no_json" | "truncated" | "malformed" | null
  /** Without the thoughts that some local models write before their answer. */
  readonly text: string
}

/** Places in a text where an object may begin that are looked at; an answer is not a haystack. */
const maxPlaces = 100

/** Characters of the longest answer that is read with tolerance, which takes its time; a longer one has to be JSON. */
const longestTolerant = 1024 * 1024

/** Finds the JSON in a model's answer: bare, in a code fence, with prose around it, with trailing commas. */
export function parseLenient(answer: string): LenientAnswer {
  const text = withoutThoughts(answer).trim()
  const likeJson = /^(?:[{[]|`{3}|~{3})/.test(text)
  const whole = parseWhole(text)
  if (whole !== undefined)
    return { candidates: [whole], bare: true, likeJson: likeJson || isQuoted(text), trouble: null, text }
  const fenced = parseFences(text)
  if (fenced.length > 0) return { candidates: fenced, bare: false, likeJson, trouble: null, text }
  const { candidates, trouble } = parseWithin(text)
  return { candidates, bare: false, likeJson, trouble: candidates.length > 0 ? null : trouble, text }
}

function withoutThoughts(text: string): string {
  const begin = /^\s*<(think|thinking|reasoning)>/.exec(text)
  if (begin === null) return text
  const close = `</${begin[1]}>`
  const end = text.indexOf(close)
  return end < 0 ? text : text.slice(end + close.length)
}

function parseWhole(text: string): JsonValue | undefined {
  if (!/^[{["]/.test(text)) return undefined
  const value = boundedJson(text, modelTextWork)
  // JSON within a JSON string: written twice over.
  if (typeof value === "string" && value.trimStart().startsWith("{")) return boundedJson(value, modelTextWork) ?? value
  return value
}

function isQuoted(text: string): boolean {
  return text.startsWith('"')
}

/** What stands between two fences, each pair in its turn. A fence within a JSON string only spoils its own pair. */
function parseFences(text: string): JsonValue[] {
  const found: JsonValue[] = []
  const marks: RegExpExecArray[] = []
  for (const mark of text.matchAll(/`{3,}|~{3,}/g)) {
    marks.push(mark)
    if (marks.length > maxPlaces) break
  }
  for (let at = 0; at + 1 < marks.length; at++) {
    const [open, close] = [marks[at], marks[at + 1]]
    if (open === undefined || close === undefined) break
    const content = text
      .slice(open.index + open[0].length, close.index)
      .replace(/^[\w.+-]*/, "")
      .trim()
    if (!/^[{[]/.test(content)) continue
    const value =
      boundedJson(content, modelTextWork) ?? (text.length > longestTolerant ? undefined : readWhole(content))
    if (value === undefined) continue
    found.push(value)
    at++
  }
  return found
}

/** A tolerant reading that takes in all of the text. */
function readWhole(text: string): JsonValue | undefined {
  const result = readTolerantJson(text, 0)
  return result.outcome === "value" && text.slice(result.end).trim() === "" ? result.value : undefined
}

/** Objects between other text, in their order. */
function parseWithin(text: string): { candidates: JsonValue[]; trouble: NonNullable<LenientAnswer["trouble"]> } {
  if (text.length > longestTolerant) return parseBetween(text)
  const candidates: JsonValue[] = []
  let trouble: NonNullable<LenientAnswer["trouble"]> = "no_json"
  let places = 0
  for (let at = text.indexOf("{"); at >= 0 && places < maxPlaces; places++) {
    const result = readTolerantJson(text, at)
    if (result.outcome === "value") {
      candidates.push(result.value)
      at = text.indexOf("{", result.end)
    } else if (!looksLikeObject(text, at)) {
      at = text.indexOf("{", at + 1)
    } else if (result.outcome === "truncated") {
      // It would be half an answer.
      return { candidates: [], trouble: "truncated" }
    } else {
      // Nothing inside it counts: a piece of a broken answer is not an answer.
      trouble = "malformed"
      const end = closingBrace(text, at)
      at = end < 0 ? -1 : text.indexOf("{", end)
    }
  }
  return { candidates, trouble }
}

/** From the first brace to the last, of a text that is too long to be read with tolerance. */
function parseBetween(text: string): ReturnType<typeof parseWithin> {
  const start = text.indexOf("{")
  const end = text.lastIndexOf("}") + 1
  if (start < 0) return { candidates: [], trouble: "no_json" }
  // The whole text was tried before.
  const value = start === 0 && end === text.length ? undefined : boundedJson(text.slice(start, end), modelTextWork)
  return { candidates: value === undefined ? [] : [value], trouble: "malformed" }
}

/** Where the brace at `start` is closed, as far as braces and quotes tell; negative when it is not. */
function closingBrace(text: string, start: number): number {
  let depth = 0
  let quoted = false
  for (let at = start; at < text.length; at++) {
    const letter = text[at]
    if (quoted && letter === "\\") at++
    else if (letter === '"') quoted = !quoted
    else if (!quoted && letter === "{") depth++
    else if (!quoted && letter === "}" && --depth === 0) return at
  }
  return -1
}

const objectBegins = /\{\s*(?:"|$)/y

function looksLikeObject(text: string, at: number): boolean {
  objectBegins.lastIndex = at
  return objectBegins.test(text)
}
