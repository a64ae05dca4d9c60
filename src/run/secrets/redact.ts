import { objectOf } from "../../base/ordered-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { RedactStream } from "../../ports/model.ts"
import { GramFilter } from "./gram-filter.ts"
import type { SecretForm } from "./secret-forms.ts"
import { needsNoEscape, secretForms, shortestSearched } from "./secret-forms.ts"
import { SecretPatterns, SecretScan } from "./secret-scan.ts"
import type { SecretText } from "../../ports/secret-texts.ts"
import { secretTexts } from "../../ports/secret-texts.ts"

/**
 * Replaces secrets in whatever enters a run. It is called once, on entry: before validation, log, cache or another
 * model see the value.
 */
export interface Redactor {
  /** Any value that is JSON at heart. */
  readonly redact: <T>(value: T) => T
  /** Long secrets alone: a schema is of use only while its words, which a short secret may equal, are left as they are. */
  readonly redactLong: <T>(value: T) => T
  /** Whether the text of a JSON value certainly has no secret in it. Costs less than to look through the value. */
  readonly holdsNone: (text: string) => boolean
  /** For a text that comes in pieces. */
  readonly stream: () => RedactStream
  /** Another way in which a secret is written: found from now on. */
  readonly alsoHide: (name: string, text: string) => void
  /** Hides secrets in lower case, too: the names of headers come so. */
  readonly alsoHideLowerCase: () => void
  /** Shares nothing with others any more. It still finds all secrets. */
  readonly close: () => void
}

const noTexts: ReadonlyMap<string, string> = new Map()
const noNumbers: ReadonlyMap<number, string> = new Map()

const openStream: RedactStream = { push: (piece) => piece, end: () => "" }

/** `searches`: shared with other redactors. Such a redactor must be closed. */
export function redactor(secrets: JsonObject, searches: Searches = ownSearches): Redactor {
  const found = secretTexts(secrets)
  const whole = new Map<string, string>()
  const numbers = new Map<number, string>()
  for (const { name, text, numeric } of found) {
    if (!whole.has(text)) whole.set(text, label(name))
    if (numeric && text.length >= shortestSearched) numbers.set(Number(text), label(name))
  }
  let search = searchFor(found, searches)
  let isSame = found.every(isSameInJson)
  let isClosed = false
  const alsoHide = (name: string, text: string): void => {
    if (found.some((one) => one.text === text)) return
    found.push({ name, text, numeric: false })
    if (search !== null && !isClosed) searches.release(search)
    search = searchFor(found, isClosed ? ownSearches : searches)
    isSame &&= found.every(isSameInJson)
  }
  return {
    // A run without secrets may still get a token to hide, so that it has a redactor of its own.
    redact: <T>(value: T) => (found.length === 0 ? value : (walk(value as JsonValue, whole, numbers, search) as T)),
    redactLong: <T>(value: T) =>
      search === null ? value : (walk(value as JsonValue, noTexts, noNumbers, search) as T),
    holdsNone: (text) => found.length === 0 || (isSame && (search === null || search.replace(text) === text)),
    stream: () => search?.scan() ?? openStream,
    alsoHide,
    alsoHideLowerCase() {
      for (const { name, text } of found.slice()) alsoHide(name, text.toLowerCase())
    },
    close() {
      if (search !== null && !isClosed) searches.release(search)
      isClosed = true
    },
  }
}

/** A short secret and a number are found only as whole values, and one with escapes may be written in several ways. */
function isSameInJson({ text, numeric }: SecretText): boolean {
  return !numeric && text.length >= shortestSearched && needsNoEscape.test(text)
}

function searchFor(secrets: readonly SecretText[], searches: Searches): Search | null {
  const long = secrets.filter(({ text }) => text.length >= shortestSearched)
  // Where one text contains another, or two secrets are equal, the longer and the first one counts.
  return long.length === 0 ? null : searches.take(long.sort((a, b) => b.text.length - a.text.length))
}

interface Searches {
  take(secrets: readonly SecretText[]): Search
  release(search: Search): void
}

const ownSearches: Searches = { take: (secrets) => new Search(secrets), release: () => undefined }

/**
 * Searches of the runs under way, by their secrets: most runs of a caller have the same, and a search takes longer to make than to use. The last of its
 * runs takes a search along: no secret outlives its runs.
 */
export class SharedSearches implements Searches {
  readonly #users = new Map<string, { readonly search: Search; users: number }>()

  take(secrets: readonly SecretText[]): Search {
    const key = keyOf(secrets)
    let shared = this.#users.get(key)
    if (shared === undefined) this.#users.set(key, (shared = { search: new Search(secrets), users: 0 }))
    shared.users++
    return shared.search
  }

  release({ secrets }: Search): void {
    const key = keyOf(secrets)
    const shared = this.#users.get(key)
    if (shared !== undefined && --shared.users === 0) this.#users.delete(key)
  }

  /** How many there are. */
  get size(): number {
    return this.#users.size
  }
}

/** One text for several names and values, which may hold anything. */
function keyOf(secrets: readonly SecretText[]): string {
  let key = ""
  for (const { name, text } of secrets) key += `${name.length} ${name}${text.length} ${text}`
  return key
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
  let copy: [string, JsonValue][] | null = null
  let position = 0
  for (const key in value) {
    const item = value[key] ?? null
    const clean = walk(item, whole, numbers, search)
    const cleanKey = search === null ? key : search.replace(key)
    if (copy === null && (clean !== item || cleanKey !== key)) copy = Object.entries(value).slice(0, position)
    copy?.push([cleanKey, clean])
    position++
  }
  return copy === null ? value : objectOf(copy)
}

const escapes = /%[0-9a-f]{2}/i

/** Few texts have the sign at all, which is found faster than the pattern. */
function hasEscapes(text: string): boolean {
  return text.includes("%") && escapes.test(text)
}

/** Finds long secrets in a text. What it needs is made when a text first calls for it: most runs never do. */
class Search {
  readonly secrets: readonly SecretText[]
  #forms: readonly SecretForm[] | null = null
  #filter: GramFilter | null = null
  #patterns: SecretPatterns | null = null

  constructor(secrets: readonly SecretText[]) {
    this.secrets = secrets
  }

  replace(text: string): string {
    if (text.length < shortestSearched || !this.#suspects(text)) return text
    const scan = this.scan(hasEscapes(text))
    const clean = scan.push(text) + scan.end()
    return scan.replaced ? clean : text
  }

  /** `decodes`: whether the text may hold percent-escapes. */
  scan(decodes = true): SecretScan {
    this.#patterns ??= new SecretPatterns(this.#formsOnce())
    return new SecretScan(this.#patterns, (secret) => label(this.secrets[secret]?.name ?? ""), decodes)
  }

  #suspects(text: string): boolean {
    this.#filter ??= new GramFilter(this.#formsOnce().map((form) => form.text))
    return this.#filter.mayHold(text) || hasEscapes(text)
  }

  #formsOnce(): readonly SecretForm[] {
    this.#forms ??= secretForms(this.secrets)
    return this.#forms
  }
}
