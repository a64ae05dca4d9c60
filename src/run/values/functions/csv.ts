import { isJsonObject } from "../../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../../base/json-value.ts"
import type { Steps } from "../steps.ts"
import { ArrayBuilder, ObjectBuilder, TextBuilder } from "../value-builders.ts"
import type { FunctionCall } from "./function-call.ts"

// CSV as RFC 4180 has it: a header, rows that end with CRLF, cells in quotes where they need them.

/** Reading a character takes as long as copying this many. */
const perCharacter = 8
/** Making a cell takes as long as copying this many characters. */
const perCell = 192

/** Objects of one shape as text. Cells are as they are: nothing is put before `=`, `+`, `-` or `@`. */
export function* csv(call: FunctionCall): Steps<JsonValue> {
  const rows = call.list(0)
  const whole = new TextBuilder(call.scope)
  let header: readonly string[] | undefined
  for (const [at, row] of rows.entries()) {
    if (call.isDue) yield null
    if (!isJsonObject(row)) return call.refuse("an array of objects", row)
    if (header === undefined) {
      header = Object.keys(row)
      if (header.length === 0) return call.fail("the rows have no fields")
      addRow(call, whole, header)
    } else mustHaveShape(call, row, header, at)
    addRow(
      call,
      whole,
      header.map((name) => row[name] ?? null),
    )
  }
  return whole.text
}

function mustHaveShape(call: FunctionCall, row: JsonObject, header: readonly string[], at: number): void {
  const missing = header.find((name) => !Object.hasOwn(row, name))
  if (missing !== undefined) call.fail(`row ${at + 1} has no field "${missing}", which row 1 has`)
  const names = Object.keys(row)
  if (names.length === header.length) return
  const extra = names.find((name) => !header.includes(name))
  call.fail(`row ${at + 1} has a field "${extra}", which row 1 has not`)
}

function addRow(call: FunctionCall, whole: TextBuilder, cells: readonly JsonValue[]): void {
  call.spend(perCell * cells.length)
  for (const [at, cell] of cells.entries()) {
    if (at > 0) whole.add(",")
    addCell(call, whole, cell, cells.length === 1)
  }
  whole.add("\r\n")
}

/** Strings as they are, null as nothing, other values as JSON. */
function addCell(call: FunctionCall, whole: TextBuilder, cell: JsonValue, isAlone: boolean): void {
  if (cell === null || cell === "") {
    // An empty line is no row.
    if (isAlone) whole.add('""')
    return
  }
  if (typeof cell === "number" || typeof cell === "boolean") return whole.add(cell)
  if (typeof cell !== "string") call.bytes(cell)
  const text = typeof cell === "string" ? cell : JSON.stringify(cell)
  call.spend(text.length)
  if (!/[",\r\n]/.test(text)) return whole.add(text)
  whole.add('"')
  whole.add(text.replaceAll('"', '""'))
  whole.add('"')
}

/** An object of strings for each row after the header. */
export function* parseCsv(call: FunctionCall): Steps<JsonValue> {
  const text = call.text(0)
  call.spend(text.length * perCharacter)
  const rows = new ArrayBuilder(call.scope)
  const reader = new Reader(call, text)
  const header = reader.row()
  if (header === undefined) return rows.array
  mustBeHeader(call, header)
  for (let row = reader.row(); row !== undefined; row = reader.row()) {
    if (call.isDue) yield null
    if (row.length !== header.length) {
      return call.fail(
        `line ${reader.line} has ${count(row.length, "cell")}, and the header has ${count(header.length, "name")}`,
      )
    }
    const made = new ObjectBuilder(call.scope)
    for (const [at, name] of header.entries()) made.set(name, row[at] ?? "")
    rows.add(made.object)
  }
  return rows.array
}

function mustBeHeader(call: FunctionCall, header: readonly string[]): void {
  const seen = new Set<string>()
  for (const name of header) {
    if (seen.has(name)) call.fail(`the header has "${name}" twice`)
    if (name === "__proto__") call.fail("no field may have the name __proto__")
    seen.add(name)
  }
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`
}

class Reader {
  readonly #call: FunctionCall
  readonly #text: string
  #at: number
  #next = 1
  /** The line on which the last row begins. */
  line = 1

  constructor(call: FunctionCall, text: string) {
    this.#call = call
    this.#text = text
    // Spreadsheets write a byte order mark.
    this.#at = text.startsWith("\uFEFF") ? 1 : 0
  }

  /** The cells of the next row; empty lines are skipped. Undefined at the end. */
  row(): string[] | undefined {
    while (this.#endLine());
    if (this.#at >= this.#text.length) return undefined
    this.line = this.#next
    const cells: string[] = []
    do {
      this.#call.cut(1)
      cells.push(this.#cell())
    } while (this.#take(","))
    if (!this.#endLine() && this.#at < this.#text.length) {
      this.#call.fail(`line ${this.#next} has text after the closing quote of a cell`)
    }
    return cells
  }

  #take(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false
    this.#at++
    return true
  }

  #endLine(): boolean {
    const isEnd = this.#take("\r") ? (this.#take("\n"), true) : this.#take("\n")
    if (isEnd) this.#next++
    return isEnd
  }

  #cell(): string {
    if (this.#take('"')) return this.#quoted()
    const from = this.#at
    const end = /[,\r\n]/g
    end.lastIndex = from
    this.#at = end.exec(this.#text)?.index ?? this.#text.length
    return this.#text.slice(from, this.#at)
  }

  #quoted(): string {
    const from = this.#at
    const begun = this.#next
    let hasQuotes = false
    for (;;) {
      const end = this.#text.indexOf('"', this.#at)
      if (end < 0) return this.#call.fail(`line ${begun} has a quote that nothing closes`)
      this.#at = end + 1
      if (!this.#take('"')) break
      hasQuotes = true
    }
    const text = this.#text.slice(from, this.#at - 1)
    this.#next += text.match(/\r\n|\n|\r/g)?.length ?? 0
    return hasQuotes ? text.replaceAll('""', '"') : text
  }
}
