import { Buffer } from "node:buffer"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { beginsEncoded, beginsLiteral } from "./open-secret.ts"
import type { SecretSearch } from "./redact-stream.ts"
import { RedactStream } from "./redact-stream.ts"

/**
 * Replaces secrets in whatever enters a run. It is called once, at the door: before validation, log, cache or another
 * model see the value.
 */
export interface Redactor {
  /** Any value that is JSON at heart. */
  readonly redact: <T>(value: T) => T
  /** Long secrets alone: a schema is of use only while its words, which a short secret may equal, are left as they are. */
  readonly redactLong: <T>(value: T) => T
  /** For a text that comes in pieces. */
  readonly stream: () => RedactStream
}

/** Shorter ones are replaced only where a whole string equals them: they would turn up in innocent text. */
const shortest = 8

const noTexts: ReadonlyMap<string, string> = new Map()
const noNumbers: ReadonlyMap<number, string> = new Map()

const nothing: Redactor = {
  redact: (value) => value,
  redactLong: (value) => value,
  stream: () => new RedactStream(null),
}

export function redactor(secrets: JsonObject): Redactor {
  const found: Secret[] = []
  for (const name in secrets) collect(name, secrets[name] ?? null, found)
  if (found.length === 0) return nothing
  const long = found.filter(({ text }) => text.length >= shortest)
  // A secret that contains another one is replaced whole.
  long.sort((a, b) => b.text.length - a.text.length)
  const whole = new Map<string, string>()
  const numbers = new Map<number, string>()
  for (const { name, text, numeric } of found) {
    if (!whole.has(text)) whole.set(text, label(name))
    if (numeric && text.length >= shortest) numbers.set(Number(text), label(name))
  }
  const search = long.length === 0 ? null : new Search(long)
  return {
    redact: <T>(value: T) => walk(value as JsonValue, whole, numbers, search) as T,
    redactLong: <T>(value: T) => walk(value as JsonValue, noTexts, noNumbers, search) as T,
    stream: () => new RedactStream(search),
  }
}

/** The secrets with their names in place of their values: what a cache key and an event may see. */
export function namedSecrets(secrets: JsonObject): JsonObject {
  const name = (path: string, value: JsonValue): JsonValue => {
    if (value === null || typeof value === "boolean") return value
    if (typeof value !== "object") return label(path)
    if (Array.isArray(value)) return value.map((item, index) => name(`${path}.${index}`, item))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, name(`${path}.${key}`, item)]))
  }
  return Object.fromEntries(Object.entries(secrets).map(([key, value]) => [key, name(key, value)]))
}

interface Secret {
  readonly name: string
  readonly text: string
  readonly numeric: boolean
}

function collect(name: string, value: JsonValue, into: Secret[]): void {
  if (typeof value === "string") {
    if (value !== "") into.push({ name, text: value, numeric: false })
  } else if (typeof value === "number") into.push({ name, text: String(value), numeric: true })
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) collect(`${name}.${key}`, item, into)
  }
}

function label(name: string): string {
  return `[secret:${name}]`
}

/** Copies only what changes. */
function walk(
  value: JsonValue,
  whole: ReadonlyMap<string, string>,
  numbers: ReadonlyMap<number, string>,
  search: Search | null,
): JsonValue {
  if (typeof value === "string") return whole.get(value) ?? (search === null ? value : search.replace(value))
  if (typeof value === "number") return numbers.size === 0 ? value : (numbers.get(value) ?? value)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) {
    let copy: JsonValue[] | null = null
    for (let index = 0; index < value.length; index++) {
      const item = value[index] ?? null
      const clean = walk(item, whole, numbers, search)
      if (clean !== item) (copy ??= value.slice())[index] = clean
    }
    return copy ?? value
  }
  const keys = Object.keys(value)
  let changed = false
  const entries: [string, JsonValue][] = []
  for (const key of keys) {
    const item = value[key] ?? null
    const clean = walk(item, whole, numbers, search)
    const cleanKey = search === null ? key : search.replace(key)
    if (clean !== item || cleanKey !== key) changed = true
    entries.push([cleanKey, clean])
  }
  return changed ? Object.fromEntries(entries) : value
}

/** Finds long secrets in a text: plain, inside JSON text, Base64 at any alignment in both alphabets, URL-encoded. */
class Search implements SecretSearch {
  readonly #secrets: readonly Secret[]
  /** Cheap to look for; almost every text holds none of them. */
  readonly #signs: readonly string[]
  readonly #spaced: boolean
  // Patterns are made when a text first calls for them: most runs never meet one.
  #encoded: readonly RegExp[] | null = null
  #all: RegExp | null = null
  #forms: readonly SecretForms[] | null = null

  constructor(secrets: readonly Secret[]) {
    const signs = new Set<string>()
    for (const { text } of secrets) {
      const inJson = JSON.stringify(text).slice(1, -1)
      signs.add(text)
      signs.add(inJson)
      for (const { middle } of base64Forms(text)) signs.add(middle)
    }
    this.#secrets = secrets
    this.#signs = [...signs]
    this.#spaced = secrets.some(({ text }) => text.includes(" "))
  }

  replace(text: string): string {
    if (text.length < shortest || !this.#suspects(text)) return text
    this.#all ??= new RegExp(this.#secrets.map(anyForm).join("|"), "g")
    return text.replace(this.#all, (found, ...rest: unknown[]) => {
      const group = rest.slice(0, this.#secrets.length).findIndex((captured) => captured !== undefined)
      return label(this.#secrets[group]?.name ?? found)
    })
  }

  openFrom(text: string): number {
    this.#forms ??= this.#secrets.map(formsOf)
    let from = text.length
    for (const forms of this.#forms) {
      for (let at = Math.max(0, text.length - forms.reach); at < from; at++) if (isOpen(text, at, forms)) from = at
    }
    return from
  }

  #suspects(text: string): boolean {
    for (const sign of this.#signs) if (text.includes(sign)) return true
    if (!text.includes("%") && !(this.#spaced && text.includes("+"))) return false
    this.#encoded ??= this.#secrets.map((secret) => new RegExp(percentPattern(secret.text)))
    return this.#encoded.some((pattern) => pattern.test(text))
  }
}

/** A secret as one looks for its beginning. */
interface SecretForms {
  readonly characters: readonly string[]
  readonly inJson: string
  readonly base64: readonly Base64Form[]
  /** No form that is looked for is longer. */
  readonly reach: number
}

function formsOf({ text }: Secret): SecretForms {
  const inJson = JSON.stringify(text).slice(1, -1)
  // A byte is `%xx`, encoded again `%25xx`, and once more `%2525xx`.
  const reach = Math.max(Buffer.byteLength(text, "utf8") * 7, inJson.length)
  return { characters: Array.from(text), inJson, base64: base64Forms(text), reach }
}

const unmixed = { before: false, after: false }

function isOpen(text: string, at: number, { characters, inJson, base64 }: SecretForms): boolean {
  if (beginsEncoded(text, at, characters) || beginsLiteral(text, at, inJson, unmixed)) return true
  return base64.some(({ before, middle, after }) =>
    beginsLiteral(text, at, middle, { before: before !== "", after: after !== "" }),
  )
}

/** A group that captures the secret in any of its forms. */
function anyForm({ text }: Secret): string {
  const forms = base64Forms(text).map(({ before, middle, after }) => before + escapePattern(middle) + after)
  const inJson = JSON.stringify(text).slice(1, -1)
  return `(${[escapePattern(text), escapePattern(inJson), ...forms, percentPattern(text)].join("|")})`
}

interface Base64Form {
  readonly before: string
  readonly middle: string
  readonly after: string
}

/**
 * Where a secret stands in a Base64 text, its first byte is the first, second or third of a group, and so it reads in
 * three ways. The characters at its ends mix in bits of the neighbours: `middle` is what the secret alone decides, `before`
 * and `after` match a mixed character, so that it goes too.
 */
function base64Forms(secret: string): Base64Form[] {
  const length = Buffer.byteLength(secret, "utf8")
  const padded = Buffer.alloc(length + 2)
  padded.write(secret, 2, "utf8")
  const forms: Base64Form[] = []
  for (let offset = 0; offset < 3; offset++) {
    const bits = (offset + length) * 8
    const coded = padded.toString("base64", 2 - offset)
    const middle = coded.slice(Math.ceil((offset * 8) / 6), Math.floor(bits / 6))
    const before = offset === 0 ? "" : "[A-Za-z0-9+/_-]?"
    const after = bits % 6 === 0 ? "" : "[A-Za-z0-9+/_-]?={0,2}"
    forms.push({ before, middle, after })
    if (middle.includes("+") || middle.includes("/")) {
      forms.push({ before, middle: middle.replaceAll("+", "-").replaceAll("/", "_"), after })
    }
  }
  return forms
}

/** Any mixture of plain and percent-encoded characters, encoded once or more, a space also as `+`. */
function percentPattern(text: string): string {
  let pattern = ""
  for (const character of text) {
    const hex = [...Buffer.from(character, "utf8")]
      .map((byte) => `%(?:25)*${byte.toString(16).padStart(2, "0").replace(/[a-f]/g, eitherCase)}`)
      .join("")
    pattern += `(?:${escapePattern(character)}|${hex}${character === " " ? "|\\+" : ""})`
  }
  return pattern
}

function eitherCase(digit: string): string {
  return `[${digit}${digit.toUpperCase()}]`
}

function escapePattern(text: string): string {
  return text
    .replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
}
