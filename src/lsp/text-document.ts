import type { Program } from "../check/program.ts"
import { compile, type Compiled } from "../compile.ts"
import { compileTests, isTestFile, type TestPlace } from "../compile-tests.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import { widthAt } from "../base/width-at.ts"
import { LineMap } from "../source/line-map.ts"
import type { Span } from "../source/span.ts"
import type { Position, Range } from "./protocol.ts"
import { sourceBytes } from "../base/limits.ts"

/** What columns count: the units of UTF-16, the bytes of UTF-8, or code points. */
export type PositionEncoding = "utf-16" | "utf-8" | "utf-32"

let made = 0

/** A place in a line, and its column as the client counts. */
interface Mark {
  readonly at: number
  readonly character: number
}

/** A line has a mark after so many units: no more of it is counted for one position. */
const marked = 256

/** The workflow of a test file. */
export interface TestedDocument {
  readonly uri: string
  readonly text: string
  readonly program: Program
}

/** Finds it, by a path that is relative to the test file. */
export type Tested = (uri: string, path: string) => TestedDocument | undefined

/** What a document needs of the files around it. */
export interface Around {
  readonly tested: Tested
  /** Where the document stands; null for one that stands alone. */
  placeOf(uri: string): TestPlace | null
  compile(uri: string, text: string): Compiled
}

const alone: Around = { tested: () => undefined, placeOf: () => null, compile: (_, text) => compile(text) }

export interface CompiledDocument {
  readonly program: Program
  readonly diagnostics: readonly Diagnostic[]
  /** For a test file: the workflow that it tests, if it could be read. */
  readonly tested: TestedDocument | undefined
}

/** A document that is open in the editor: its text, and what the compiler makes of it, worked out when asked for. */
export class TextDocument {
  readonly uri: string
  readonly text: string
  readonly version: number
  /** Another one for every text that a document ever had: versions may begin anew when it is opened again. */
  readonly id = ++made
  readonly #encoding: PositionEncoding
  #lines: LineMap | undefined
  readonly #marks = new Map<number, readonly Mark[]>()
  readonly #around: Around
  #compiled: CompiledDocument | undefined

  constructor(uri: string, text: string, version: number, encoding: PositionEncoding, around: Around = alone) {
    this.#around = around
    this.uri = uri
    this.text = text
    this.version = version
    this.#encoding = encoding
  }

  /** Nothing but its length is looked at. */
  get isTooLarge(): boolean {
    return this.text.length > sourceBytes
  }

  get compiled(): CompiledDocument {
    if (this.isTooLarge) return (this.#compiled ??= { ...compile(""), tested: undefined })
    return (this.#compiled ??= this.isTest
      ? this.#compileTests()
      : { ...this.#around.compile(this.uri, this.text), tested: undefined })
  }

  get isTest(): boolean {
    return isTestFile(this.uri)
  }

  #compileTests(): CompiledDocument {
    let tested: TestedDocument | undefined
    const find = (path: string): Program | undefined => {
      tested = this.#around.tested(this.uri, path)
      return tested?.program
    }
    const name = this.uri.slice(this.uri.lastIndexOf("/") + 1)
    const { program, diagnostics } = compileTests(this.text, name, find, this.#around.placeOf(this.uri))
    return { program, diagnostics, tested }
  }

  /** The same text, to be compiled again: the workflow that it tests has changed. */
  anew(): TextDocument {
    return new TextDocument(this.uri, this.text, this.version, this.#encoding, this.#around)
  }

  get lines(): LineMap {
    return (this.#lines ??= new LineMap(this.text))
  }

  /** The document after a change: to a piece of it, or all of it. */
  changed(range: Range | undefined, text: string, version: number): TextDocument {
    if (range === undefined) return new TextDocument(this.uri, text, version, this.#encoding, this.#around)
    const { start, end } = this.span(range)
    const replaced = this.text.slice(0, start) + text + this.text.slice(Math.max(start, end))
    return new TextDocument(this.uri, replaced, version, this.#encoding, this.#around)
  }

  span(range: Range): Span {
    return { start: this.offset(range.start), end: this.offset(range.end) }
  }

  /** Beyond the end of a line is its end, beyond the last line the end of the text. */
  offset({ line, character }: Position): number {
    if (line >= this.lines.lineCount) return this.text.length
    const start = this.lines.lineStart(line + 1)
    const end = this.#lineEnd(line)
    if (this.#encoding === "utf-16") return insideOf(this.text, Math.min(start + character, end))
    let left = character
    let at = start
    while (at < end && left > 0) {
      left -= this.#encoding === "utf-8" ? utf8LengthAt(this.text, at) : 1
      // A position inside of a character is the one before it.
      if (left < 0) break
      at += widthAt(this.text, at)
    }
    return at
  }

  position(offset: number): Position {
    const { line, column } = this.lines.position(offset)
    if (this.#encoding === "utf-16") return { line: line - 1, character: column - 1 }
    const end = this.lines.lineStart(line) + column - 1
    const { at, character } = this.#markBefore(line, end)
    return { line: line - 1, character: character + this.length(at, end) }
  }

  /** The last mark of a line that is not behind the offset. */
  #markBefore(line: number, offset: number): Mark {
    let marks = this.#marks.get(line)
    if (marks === undefined) {
      marks = this.#marksOf(line)
      this.#marks.set(line, marks)
    }
    const start = this.lines.lineStart(line)
    let index = Math.min(Math.floor((offset - start) / marked), marks.length - 1)
    // A mark stands behind a character that begins before its place.
    if ((marks[index]?.at ?? 0) > offset) index--
    return marks[index] ?? { at: start, character: 0 }
  }

  #marksOf(line: number): readonly Mark[] {
    const start = this.lines.lineStart(line)
    const end = this.#lineEnd(line - 1)
    const marks: Mark[] = [{ at: start, character: 0 }]
    let mark = { at: start, character: 0 }
    for (let next = start + marked; next <= end; next += marked) {
      const at = insideOf(this.text, next) === next ? next : next + 1
      mark = { at, character: mark.character + this.length(mark.at, at) }
      marks.push(mark)
    }
    return marks
  }

  range({ start, end }: Span): Range {
    return { start: this.position(start), end: this.position(end) }
  }

  /** A file that is not open, with positions as the client counts them. */
  beside(uri: string, text: string): TextDocument {
    return new TextDocument(uri, text, 0, this.#encoding)
  }

  /** How long a piece of a line is, in the units that the client counts. */
  length(start: number, end: number): number {
    if (this.#encoding === "utf-16") return end - start
    let length = 0
    for (let at = start; at < end; at += widthAt(this.text, at)) {
      length += this.#encoding === "utf-8" ? utf8LengthAt(this.text, at) : 1
    }
    return length
  }

  /** Where the text of a line (counted from 0) ends, without its line break. */
  #lineEnd(line: number): number {
    let end = line + 1 < this.lines.lineCount ? this.lines.lineStart(line + 2) : this.text.length
    if (line + 1 >= this.lines.lineCount) return end
    if (this.text[end - 1] === "\n") end--
    if (this.text[end - 1] === "\r") end--
    return end
  }
}

/** Never between the two halves of a character. */
function insideOf(text: string, offset: number): number {
  const isLow = /[\uDC00-\uDFFF]/.test(text[offset] ?? "")
  const isHigh = /[\uD800-\uDBFF]/.test(text[offset - 1] ?? "")
  return isLow && isHigh ? offset - 1 : offset
}

function utf8LengthAt(text: string, at: number): number {
  if (widthAt(text, at) === 2) return 4
  const unit = text.charCodeAt(at)
  if (unit < 0x80) return 1
  return unit < 0x800 ? 2 : 3
}
