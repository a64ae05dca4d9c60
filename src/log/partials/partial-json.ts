import type { JsonValue } from "../../base/json-value.ts"
import { isIdentifier } from "../../base/identifier.ts"
import { runValueLevels } from "../../base/limits.ts"

/** News of one scalar of a JSON text: characters that a string has gained, or its value once it is complete. */
export type PartialScalar =
  | { readonly path: string; readonly delta: string; readonly done: false }
  | { readonly path: string; readonly value: Scalar; readonly done: true }

export type Scalar = string | number | boolean | null

/** `reading`: it may go on. `whole`: a complete object. `stopped`: it is not plain JSON, or is written in an unusual way. */
export type ReadingState = "reading" | "whole" | "stopped"

interface Container {
  readonly path: string
  /** Null for an array. */
  readonly keys: Set<string> | null
  index: number
}

/** A string that has begun: what was reported of it, and what was not yet. */
interface BegunString {
  readonly isKey: boolean
  whole: string
  fresh: string
}

/** The part of the grammar that the reader expects next. */
type Expected = "value" | "key" | "first-key" | "first-item" | "colon" | "more" | "end"

const blank = /[ \t\n\r]*/y
/** Characters of a string up to its end, an escape, or what may not stand in one. */
// oxlint-disable-next-line no-control-regex -- JSON strings may not hold them.
const plainCharacters = /[^"\\\u0000-\u001f]*/y
const word = /[-+.\w]*/y
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const words: Readonly<Record<string, Scalar>> = { true: true, false: false, null: null }
const shortEscapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
}
/** Writers of JSON escape these for HTML. */
const escapedForHtml = "<>&'=\"\\/"

/**
 * Reads the text of a JSON object that comes in pieces, and reports each scalar as it grows. Every character is looked at once. It
 * stops for good where the text is not plain JSON (prose, a fence, a duplicate key, a trailing comma). It also stops at an escaped letter or
 * digit: no writer escapes them, and the search for secrets does not read such escapes.
 */
export class PartialJson {
  readonly #found: PartialScalar[] = []
  readonly #open: Container[] = []
  #state: ReadingState = "reading"
  #expected: Expected = "value"
  /** The place of the value that comes next. */
  #path = ""
  #string: BegunString | null = null
  /** An escape that has begun, without its backslash. */
  #escape: string | null = null
  /** A number or a word that has begun. */
  #word = ""

  get state(): ReadingState {
    return this.#state
  }

  /** Reads the next piece of the text, and returns what it adds. */
  push(text: string): PartialScalar[] {
    let at = 0
    while (at < text.length && this.#state !== "stopped") at = this.#step(text, at)
    this.#report(false)
    return this.#found.splice(0)
  }

  #step(text: string, at: number): number {
    if (this.#string !== null) return this.#inString(text, at, this.#string)
    if (this.#word !== "") return this.#inWord(text, at)
    blank.lastIndex = at
    blank.test(text)
    const next = blank.lastIndex
    const letter = text[next]
    if (letter === undefined) return next
    this.#token(letter)
    // The first letter of a word is part of it.
    return this.#word === "" ? next + 1 : this.#inWord(text, next + 1)
  }

  #token(letter: string): void {
    switch (this.#expected) {
      case "first-key":
      case "key":
        if (letter === '"') this.#string = { isKey: true, whole: "", fresh: "" }
        else if (letter === "}" && this.#expected === "first-key") this.#close()
        else this.#stop()
        return
      case "colon":
        if (letter === ":") this.#expected = "value"
        else this.#stop()
        return
      case "more":
        this.#afterValue(letter)
        return
      case "end":
        this.#stop()
        return
      case "first-item":
        if (letter === "]") this.#close()
        else this.#value(letter)
        return
      case "value":
        this.#value(letter)
    }
  }

  #value(letter: string): void {
    const isRoot = this.#open.length === 0
    if (letter === "{") this.#enter(new Set())
    else if (isRoot) this.#stop()
    else if (letter === "[") this.#enter(null)
    else if (letter === '"') this.#string = { isKey: false, whole: "", fresh: "" }
    else if (/[-\dtfn]/.test(letter)) this.#word = letter
    else this.#stop()
  }

  #enter(keys: Set<string> | null): void {
    if (this.#open.length >= runValueLevels) {
      this.#stop()
      return
    }
    this.#open.push({ path: this.#path, keys, index: 0 })
    this.#expected = keys === null ? "first-item" : "first-key"
    if (keys === null) this.#path = `${this.#path}[0]`
  }

  #afterValue(letter: string): void {
    const container = this.#open.at(-1)
    if (container === undefined) this.#stop()
    else if (letter === (container.keys === null ? "]" : "}")) this.#close()
    else if (letter !== ",") this.#stop()
    else if (container.keys === null) {
      this.#path = `${container.path}[${++container.index}]`
      this.#expected = "value"
    } else this.#expected = "key"
  }

  #close(): void {
    this.#open.pop()
    this.#valueEnds()
  }

  #valueEnds(): void {
    this.#expected = this.#open.length === 0 ? "end" : "more"
    if (this.#open.length === 0) this.#state = "whole"
  }

  // ------------------------------------------------------------------------------------------------- words

  #inWord(text: string, at: number): number {
    word.lastIndex = at
    word.test(text)
    const end = word.lastIndex
    this.#word += text.slice(at, end)
    // It goes on in the next piece, or has ended.
    if (end < text.length) this.#endWord()
    return end
  }

  #endWord(): void {
    const text = this.#word
    this.#word = ""
    const known = Object.hasOwn(words, text) ? words[text] : undefined
    if (known !== undefined) this.#scalar(known)
    else if (number.test(text) && Number.isFinite(Number(text))) this.#scalar(Number(text))
    else this.#stop()
  }

  #scalar(value: Scalar): void {
    this.#found.push({ path: this.#path, value, done: true })
    this.#valueEnds()
  }

  // ------------------------------------------------------------------------------------------------- strings

  #inString(text: string, at: number, string: BegunString): number {
    if (this.#escape !== null) {
      this.#inEscape(text[at] ?? "", this.#escape, string)
      return at + 1
    }
    plainCharacters.lastIndex = at
    plainCharacters.test(text)
    const end = plainCharacters.lastIndex
    string.fresh += text.slice(at, end)
    const letter = text[end]
    if (letter === undefined) return end
    if (letter === '"') this.#endString(string)
    else if (letter === "\\") this.#escape = ""
    else this.#stop()
    return end + 1
  }

  #inEscape(letter: string, before: string, string: BegunString): void {
    if (before === "") {
      const plain = shortEscapes[letter]
      if (letter === "u") this.#escape = "u"
      else if (plain === undefined) this.#stop()
      else this.#endEscape(plain, string)
      return
    }
    if (!/[\da-fA-F]/.test(letter)) {
      this.#stop()
      return
    }
    this.#escape = before + letter
    if (this.#escape.length < 5) return
    const character = String.fromCharCode(Number.parseInt(this.#escape.slice(1), 16))
    if (/[ -~]/.test(character) && !escapedForHtml.includes(character)) this.#stop()
    else this.#endEscape(character, string)
  }

  #endEscape(character: string, string: BegunString): void {
    this.#escape = null
    string.fresh += character
  }

  #endString(string: BegunString): void {
    if (string.isKey) {
      this.#string = null
      this.#endKey(string.fresh)
      return
    }
    this.#report(true)
    this.#string = null
    this.#scalar(string.whole)
  }

  #endKey(key: string): void {
    const container = this.#open.at(-1)
    if (container === undefined || container.keys === null || container.keys.has(key)) {
      this.#stop()
      return
    }
    container.keys.add(key)
    this.#path = fieldPath(container.path, key)
    this.#expected = "colon"
  }

  /** Reports what the string has gained. Half of a character waits for its other half, unless the string is at its end. */
  #report(isEnd: boolean): void {
    const string = this.#string
    if (string === null || string.isKey || string.fresh === "") return
    const cut = !isEnd && /[\ud800-\udbff]$/.test(string.fresh) ? string.fresh.length - 1 : string.fresh.length
    const delta = string.fresh.slice(0, cut)
    string.fresh = string.fresh.slice(cut)
    if (delta === "") return
    string.whole += delta
    this.#found.push({ path: this.#path, delta, done: false })
  }

  #stop(): void {
    this.#report(false)
    this.#string = null
    this.#escape = null
    this.#word = ""
    this.#open.length = 0
    this.#state = "stopped"
  }
}

/** `text`, `items[2].title`, `["odd name"]`: unlike paths in messages, never shortened. */
export function fieldPath(path: string, key: string): string {
  if (!isIdentifier(key)) return `${path}[${JSON.stringify(key)}]`
  return path === "" ? key : `${path}.${key}`
}

/** Every scalar of a value with its path, in order. */
export function* scalarsOf(value: JsonValue, path = ""): Generator<{ readonly path: string; readonly value: Scalar }> {
  if (typeof value !== "object" || value === null) yield { path, value }
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* scalarsOf(item, `${path}[${index}]`)
  } else for (const key of Object.keys(value)) yield* scalarsOf(value[key] ?? null, fieldPath(path, key))
}
