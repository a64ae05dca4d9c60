import { isJsonObject } from "../../base/is-json-object.ts"
import { compareCodePoints } from "../../base/compare-code-points.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { Expression, ListExpression, LoopPlan } from "../../plan/expression.ts"
import { nodeCount } from "../../plan/expression-traits.ts"
import type { Scope } from "./scope.ts"
import { describe, problem, textOf } from "./scope.ts"
import type { Steps } from "./steps.ts"
import { ArrayBuilder } from "./value-builders.ts"

/** How a part of the list is evaluated for an element: `prepared` of evaluate.ts, or to a promise where the part may take long itself. */
type Prepare = (expression: Expression) => (scope: Scope) => JsonValue | Promise<JsonValue>

/** Elements whose evaluation is counted at once. */
const perStep = 256

/** An element and its variables are looked up, and each part of an expression is evaluated: in characters that take the same time. */
const perElement = 128
const perNode = 48
/** A list makes a scope of its own, with the variables of the lists around it. */
const perList = 2048
const perVariable = 128
/** Two keys are compared: numbers, or texts without the characters that they share. */
const perNumbers = 16
const perTexts = 48

/** A list, from the list that it is made of. */
export function* listSteps(
  expression: ListExpression,
  list: JsonValue,
  scope: Scope,
  prepare: Prepare,
): Steps<JsonValue[]> {
  const { elements, positions } = yield* itemSteps(expression, list, scope, prepare)
  const { loop, value } = expression
  const { work } = scope
  const item = new ItemScope(loop, scope)
  const made = new ArrayBuilder(scope)
  const valueFor = prepare(value)
  for (let at = 0; at < elements.length; at++) {
    if (at % perStep === 0) spendNodes(value, Math.min(perStep, elements.length - at), scope)
    if (work.isDue) yield null
    const found = valueFor(item.with(elements[at] ?? null, positions?.[at] ?? at))
    made.add(found instanceof Promise ? yield found : found)
  }
  return made.array
}

/** Elements of a list, with their positions in it where they are not all of them in their order. */
export interface Chosen {
  readonly elements: readonly JsonValue[]
  readonly positions: readonly number[] | null
}

/** The elements that a list is made of: those that its condition keeps, in the order of its key. */
export function* itemSteps(expression: ListExpression, list: JsonValue, scope: Scope, prepare: Prepare): Steps<Chosen> {
  const { loop, when, by } = expression
  if (!Array.isArray(list)) throw problem(textOf(loop.items), `for needs an array, found ${describe(list)}`, scope)
  const { work, path } = scope
  work.spend(perList + scope.items.size * perVariable, path)
  const item = new ItemScope(loop, scope)
  const kept: JsonValue[] = []
  const places: number[] | null = loop.index === undefined ? null : []
  const keeps = when === null ? null : prepare(when)
  for (let from = 0; from < list.length; from += perStep) {
    if (work.isDue) yield null
    const to = Math.min(list.length, from + perStep)
    work.elements(to - from, path)
    work.spend((to - from) * perElement, path)
    if (when === null || keeps === null) continue
    spendNodes(when, to - from, scope)
    for (let at = from; at < to; at++) {
      if (work.isDue) yield null
      const element = list[at] ?? null
      const found = keeps(item.with(element, at))
      if (!isKept(when, found instanceof Promise ? yield found : found, scope)) continue
      kept.push(element)
      places?.push(at)
    }
  }
  const chosen: Chosen = when === null ? { elements: list, positions: null } : { elements: kept, positions: places }
  return by === null ? chosen : yield* sortSteps(chosen, by, item, scope, prepare)
}

/** Counts the evaluation of an expression for some elements. */
function spendNodes(expression: Expression, count: number, { work, path }: Scope): void {
  work.spend(count * nodeCount(expression) * perNode, path)
}

function isKept(condition: Expression, kept: JsonValue, scope: Scope): boolean {
  if (typeof kept === "boolean") return kept
  throw problem(textOf(condition), `when takes a boolean, found ${describe(kept)}`, scope)
}

/** Stable, also where it is turned around. */
function* sortSteps(
  { elements, positions }: Chosen,
  { key, descending }: NonNullable<ListExpression["by"]>,
  item: ItemScope,
  scope: Scope,
  prepare: Prepare,
): Steps<Chosen> {
  const { work, path } = scope
  const keys: (number | string)[] = []
  let bytes = 0
  let isPlain = true
  let isWhole = true
  const keyFor = prepare(key)
  for (let at = 0; at < elements.length; at++) {
    if (at % perStep === 0) spendNodes(key, Math.min(perStep, elements.length - at), scope)
    if (work.isDue) yield null
    const found = keyFor(item.with(elements[at] ?? null, positions?.[at] ?? at))
    const own = keyOf(key, found instanceof Promise ? yield found : found, keys[0], scope)
    if (typeof own === "string") {
      // Texts are there at one time, as the elements of a value are.
      bytes += work.part(own, bytes, path)
      isPlain &&= !/[\uD800-\uDFFF]/.test(own)
    } else isWhole &&= Number.isInteger(own) && Math.abs(own) <= largestPacked
    keys.push(own)
  }
  const turn = descending ? -1 : 1
  const isNumber = typeof keys[0] === "number"
  const perCompared = isNumber ? perNumbers : perTexts + Math.ceil(bytes / (keys.length + 1))
  const spend = (count: number): void => work.spend(count * perCompared, path)
  if (isNumber && isWhole && keys.length <= perSort) {
    spend(keys.length * Math.ceil(Math.log2(keys.length + 1)))
    return inOrder(inPackedOrder(keys as number[], turn))
  }
  // All are of the type of the first.
  const compare = isNumber ? numbersIn(keys as number[], turn) : textsIn(keys as string[], turn, isPlain)
  const order = yield* mergeSteps(keys.length, compare, spend)
  return inOrder(order)

  function inOrder(order: readonly number[]): Chosen {
    return {
      elements: order.map((index) => elements[index] ?? null),
      positions: item.isNumbered ? order.map((index) => positions?.[index] ?? index) : null,
    }
  }
}

/** Whole keys up to this one have room for a position beside them in a double. */
const largestPacked = 2 ** 38

/** The positions in the order of whole keys. Key and position are one number: no function compares, and equal keys keep their order. */
function inPackedOrder(keys: readonly number[], turn: 1 | -1): number[] {
  const packed = new Float64Array(keys.length)
  for (let at = 0; at < keys.length; at++) packed[at] = turn * (keys[at] ?? 0) * perSort + at
  packed.sort()
  const ordered: number[] = []
  for (const one of packed) ordered.push(one - Math.floor(one / perSort) * perSort)
  return ordered
}

type Compare = (one: number, other: number) => number

function numbersIn(keys: readonly number[], turn: 1 | -1): Compare {
  return (one, other) => turn * ((keys[one] ?? 0) - (keys[other] ?? 0))
}

/** Without surrogates the order of code points is that of UTF-16, which is compared much faster. */
function textsIn(keys: readonly string[], turn: 1 | -1, isPlain: boolean): Compare {
  if (!isPlain) return (one, other) => turn * compareCodePoints(keys[one] ?? "", keys[other] ?? "")
  return (one, other) => {
    const first = keys[one] ?? ""
    const second = keys[other] ?? ""
    return first === second ? 0 : first < second ? -turn : turn
  }
}

/** Positions that are sorted in one step. */
const perSort = 16_384

/** The positions from 0 in their order: sorted in parts, which are merged. `spend` counts comparisons before they are made. */
function* mergeSteps(count: number, compare: Compare, spend: (comparisons: number) => void): Steps<readonly number[]> {
  let order: number[] = []
  for (let from = 0; from < count; from += perSort) {
    if (from > 0) yield null
    const part = Array.from({ length: Math.min(perSort, count - from) }, (_, at) => from + at)
    spend(part.length * Math.ceil(Math.log2(part.length + 1)))
    part.sort(compare)
    order = from === 0 ? part : order.concat(part)
  }
  for (let width = perSort; width < count; width *= 2) {
    const merged: number[] = []
    for (let from = 0; from < count; from += 2 * width) {
      const [middle, end] = [Math.min(from + width, count), Math.min(from + 2 * width, count)]
      let [left, right] = [from, middle]
      for (let at = from; at < end; at++) {
        if (at % perSort === 0) {
          yield null
          spend(Math.min(perSort, end - at))
        }
        const one = order[left] ?? 0
        const other = order[right] ?? 0
        const isLeft = left < middle && (right === end || compare(one, other) <= 0)
        merged.push(isLeft ? one : other)
        if (isLeft) left++
        else right++
      }
    }
    order = merged
  }
  return order
}

function keyOf(expression: Expression, key: JsonValue, first: JsonValue | undefined, scope: Scope): number | string {
  if (typeof key !== "number" && typeof key !== "string") {
    throw problem(textOf(expression), `by takes a number or a string, found ${describe(key)}`, scope)
  }
  if (first !== undefined && typeof first !== typeof key) {
    throw problem(textOf(expression), "by takes numbers or strings, found both", scope)
  }
  return key
}

/** The scope of one element alone: its calls go on while others begin. */
export function scopeOfItem(loop: LoopPlan, element: JsonValue, position: number, index: number, scope: Scope): Scope {
  return { ...new ItemScope(loop, scope).with(element, index), positions: [...scope.positions, position] }
}

/** The scope of one element after the other: each takes the place of the one before. */
class ItemScope {
  readonly #loop: LoopPlan
  readonly #scope: Scope
  readonly #items: Map<string, JsonValue>
  readonly #inner: Scope

  constructor(loop: LoopPlan, scope: Scope) {
    this.#loop = loop
    this.#scope = scope
    this.#items = new Map(scope.items)
    this.#inner = { ...scope, items: this.#items }
  }

  /** Whether the elements' positions in the list are asked for. */
  get isNumbered(): boolean {
    return this.#loop.index !== undefined
  }

  with(element: JsonValue, at: number): Scope {
    const { pattern, index } = this.#loop
    if (index !== undefined) this.#items.set(index, at)
    if (pattern.kind === "item") this.#items.set(pattern.variable, element)
    else {
      for (const { field, variable } of pattern.fields) {
        if (!isJsonObject(element) || !Object.hasOwn(element, field)) {
          throw problem(variable, `the element's field ${field} is not there, found ${describe(element)}`, this.#scope)
        }
        this.#items.set(variable, element[field] ?? null)
      }
    }
    return this.#inner
  }
}
