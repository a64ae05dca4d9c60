import { isJsonObject } from "../../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../../base/json-value.ts"
import type { FunctionExpression } from "../../../plan/expression.ts"
import { lacking, problem, type Scope } from "../scope.ts"
import { isLongJson } from "./json-steps.ts"

const longText = 65_536
const longList = 4096

/** One call of a function: its arguments, checked where the checker could not know them, and what it may cost. */
export class FunctionCall {
  readonly scope: Scope
  /** The result must be an exact integer. */
  readonly integer: boolean
  readonly #expression: FunctionExpression
  readonly #items: readonly JsonValue[]

  constructor(expression: FunctionExpression, items: readonly JsonValue[], scope: Scope) {
    this.#expression = expression
    this.#items = items
    this.scope = scope
    this.integer = expression.integer
  }

  /** How many arguments there are. */
  get count(): number {
    return this.#items.length
  }

  item(at: number): JsonValue {
    return this.#items[at] ?? null
  }

  /** An `evaluation_error` that names the expression. */
  fail(message: string): never {
    throw problem(this.#expression.text, message, this.scope)
  }

  /** The value is not what the function takes. */
  refuse(words: string, found: JsonValue): never {
    throw lacking(this.#expression, `${this.#expression.name} takes ${words}`, found, this.scope)
  }

  text(at: number): string {
    const value = this.item(at)
    return typeof value === "string" ? value : this.refuse("a string", value)
  }

  number(at: number): number {
    const value = this.item(at)
    return typeof value === "number" ? value : this.refuse("a number", value)
  }

  integerAt(at: number): number {
    const value = this.item(at)
    if (typeof value !== "number") return this.refuse("an integer", value)
    return Number.isInteger(value) ? value : this.fail("an integer is needed, found a number with a fraction")
  }

  list(at: number): readonly JsonValue[] {
    const value = this.item(at)
    return Array.isArray(value) ? value : this.refuse("an array", value)
  }

  /** The elements of an array, which are looked at one by one. */
  numbers(at: number): readonly number[] {
    const list = this.list(at)
    this.look(list.length)
    for (const value of list) if (typeof value !== "number") this.refuse("an array of numbers", value)
    return list as readonly number[]
  }

  booleans(at: number): readonly boolean[] {
    const list = this.list(at)
    this.look(list.length)
    for (const value of list) if (typeof value !== "boolean") this.refuse("an array of booleans", value)
    return list as readonly boolean[]
  }

  object(at: number): JsonObject {
    const value = this.item(at)
    return isJsonObject(value) ? value : this.refuse("an object", value)
  }

  /** Others should have their turn. */
  get isDue(): boolean {
    return this.scope.work.isDue
  }

  /** Whether an argument is so large that the call may take long. */
  get isLarge(): boolean {
    return this.#items.some((item) => {
      if (typeof item === "string") return item.length > longText
      if (Array.isArray(item)) return item.length > longList
      return isJsonObject(item) && Object.keys(item).length > longList
    })
  }

  /** Whether the first argument takes long to write. */
  get isLong(): boolean {
    return isLongJson(this.item(0), this.scope)
  }

  /** Counts elements that are looked at. */
  look(count: number): void {
    this.spend(count * 48)
  }

  /** Counts pieces that are cut out of a text. */
  cut(count: number): void {
    this.make(count)
    this.spend(count * 192)
  }

  /** Counts elements of an array that is made. */
  make(count: number): void {
    this.scope.work.elements(count, this.scope.path)
  }

  /** Counts work that makes nothing, in characters. */
  spend(work: number): void {
    this.scope.work.spend(work, this.scope.path)
  }

  /** A text that was made, and is no longer than those that are there. */
  madeText(text: string): string {
    this.scope.work.text(text.length, this.scope.path)
    return text
  }

  /** The bytes of a value as JSON. */
  bytes(value: JsonValue, before = 0): number {
    return this.scope.work.part(value, before, this.scope.path)
  }

  /** Refuses a value that would be larger than a value of a run may be. */
  checkSize(bytes: number): void {
    this.scope.work.checkSize(bytes, this.scope.path)
  }
}
