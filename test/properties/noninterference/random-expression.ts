import type { FunctionName } from "../../../src/check/function-table.ts"
import type { BinaryOperator } from "../../../src/syntax/tree.ts"
import type { Random } from "../../support/random.ts"
import {
  arrayOf,
  boolean,
  integer,
  maybe,
  number,
  record,
  resolved,
  sameType,
  string,
  untyped,
  type Fields,
  type WireType,
} from "./wire-type.ts"

// Random expressions that fit their types: the value of a type, or any value with its type.

export interface Value {
  readonly text: string
  readonly type: WireType
  /** A call with `on_failure: skip`. */
  readonly skips?: boolean
  /** The position of the root that it is a part of. */
  readonly root?: number
}

export interface Scope {
  /** What can be referred to, with its type. */
  readonly roots: readonly Value[]
  /** `call`, `read`, `render` and `repeat` may stand here. */
  readonly mayCall: boolean
  /** No loop is around it: calls in loops multiply. */
  readonly loops: number
  /** Before the run: only `input` is known. */
  readonly isEarly?: true
}

/** What a file lets expressions call. */
export interface Callables {
  /** A call with its block, and the type of its result; undefined where there is nothing to call. */
  call(scope: Scope, depth: number): Value | undefined
}

/** Values that are not varied between two runs: what `trust` and `release` make of them is equal in both. */
export interface Exceptions {
  readonly trusted: readonly string[]
  readonly released: readonly string[]
}

/** A function that the file declares. */
export interface OwnFunction {
  readonly name: string
  readonly takes: readonly WireType[]
  readonly gives: WireType
}

const twoWords: WireType = { kind: "enum", values: ["a", "b"] }

const comparisons: readonly BinaryOperator[] = ["==", "!=", "<", "<=", ">", ">=", "contains", "in"]

export class Expressions {
  readonly #random: Random
  readonly #callables: Callables
  readonly #exceptions: Exceptions
  /** What expressions may call from here on. */
  readonly functions: OwnFunction[] = []
  #names = 0

  constructor(random: Random, callables: Callables, exceptions: Exceptions) {
    this.#random = random
    this.#callables = callables
    this.#exceptions = exceptions
  }

  // ---------------------------------------------------------------------------------------------- a value of a type

  of(type: WireType, scope: Scope, depth: number): string {
    const random = this.#random
    if (depth > 0 && random.chance(0.12) && (isPlain(type) || random.chance(0.3)))
      return this.#decided(type, scope, depth - 1)
    const own = this.functions.filter(({ gives }) => sameType(gives, type))
    if (depth > 0 && own.length > 0 && random.chance(0.25)) {
      const { name, takes } = random.pick(own)
      return `${name}(${takes.map((one) => this.of(one, scope, depth - 1)).join(", ")})`
    }
    const found = random.chance(0.75) ? this.#found(type, scope) : undefined
    if (found !== undefined && (type.kind !== "string" || random.chance(0.55))) return found
    if (depth > 0 && random.chance(0.25)) {
      const made = this.#byFunction(type, scope, depth - 1)
      if (made !== undefined) return made
    }
    return this.#made(type, scope, depth)
  }

  #decided(type: WireType, scope: Scope, depth: number): string {
    const random = this.#random
    const again = (): string => this.of(type, scope, depth)
    switch (random.below(5)) {
      case 0:
        return `match ${this.of(boolean, quiet(scope), depth)} { true: ${again()} false: ${again()} }`
      case 1: {
        const chosen = this.#walkTo((one) => one.kind === "enum" || one.kind === "variant", scope)
        const kind = chosen === undefined ? undefined : resolved(chosen.type)
        if (chosen === undefined || kind === undefined) return again()
        const names =
          kind.kind === "enum" ? kind.values : kind.kind === "variant" ? kind.cases.map(([name]) => name) : []
        const some = names.slice(0, 1 + random.below(names.length))
        const rest = some.length < names.length ? ` _ ${again()}` : ""
        return `match ${chosen.text} { ${some.map((name) => `${name}: ${again()}`).join(" ")}${rest} }`
      }
      case 2: {
        const chosen = this.#nullableEnum(scope)
        return chosen === undefined ? again() : `match ${chosen} { a: ${again()} null: ${again()} _ ${again()} }`
      }
      default: {
        const left = this.#walkTo((one) => one.kind === "maybe" && sameType(one.of, type), scope)
        return left === undefined ? again() : `(${left.text} ?? ${again()})`
      }
    }
  }

  #nullableEnum(scope: Scope): string | undefined {
    return this.#walkTo((one) => one.kind === "maybe" && sameType(one.of, twoWords), scope)?.text
  }

  /** A path from what is in scope to a value of exactly this type. */
  #found(type: WireType, scope: Scope): string | undefined {
    const fits = paths(scope).filter(
      (one) => sameType(one.type, type) || (type.kind === "maybe" && sameType(one.type, type.of)),
    )
    return fits.length === 0 ? undefined : this.#recent(fits).text
  }

  /** What was declared last leads on: chains of steps come from it. */
  #recent(values: readonly Value[]): Value {
    const random = this.#random
    const roots = [...new Set(values.map(({ root = 0 }) => root))]
    const at = random.chance(0.5) ? roots.length - 1 : Math.floor(Math.max(random.next(), random.next()) * roots.length)
    return random.pick(values.filter(({ root = 0 }) => root === roots[at]))
  }

  #walkTo(fits: (type: WireType) => boolean, scope: Scope): Value | undefined {
    const all = paths(scope).filter((one) => fits(resolved(one.type)))
    return all.length === 0 ? undefined : this.#recent(all)
  }

  #made(type: WireType, scope: Scope, depth: number): string {
    const random = this.#random
    const inner = depth - 1
    switch (type.kind) {
      case "string":
        return this.#text(scope, depth)
      case "integer":
        return depth <= 0 ? String(random.below(5)) : this.#integer(scope, inner)
      case "number":
        if (depth <= 0 || random.chance(0.3)) return random.pick(["0.5", "2", "-1.5", "3.25"])
        return random.chance(0.5)
          ? `(${this.of(integer, scope, inner)} / 2)`
          : `(${this.of(number, scope, inner)} ${random.pick(["+", "-", "*"])} ${this.of(integer, scope, inner)})`
      case "boolean":
        return depth <= 0 ? random.pick(["true", "false"]) : this.#condition(scope, inner)
      case "null":
        return "null"
      case "object":
        return `{ made: ${this.of(string, scope, inner)} }`
      case "literal":
        return JSON.stringify(type.value)
      case "enum":
        return JSON.stringify(random.pick(type.values))
      case "array":
        return this.#array(type, scope, depth)
      case "tuple":
        return this.#shifted(type.of, scope) ?? `[${type.of.map((one) => this.of(one, scope, inner)).join(", ")}]`
      case "record":
        return this.#object(type.fields, scope, inner)
      case "maybe":
        return depth <= 0 || random.chance(0.3) ? "null" : this.of(type.of, scope, inner)
      case "map":
        return this.#map(type.of, scope, depth)
      case "union":
        return this.of(random.pick(type.of), scope, inner)
      case "variant": {
        const [name, fields] = depth <= 0 ? (type.cases[0] ?? ["", []]) : random.pick(type.cases)
        const rest = fields.map(([field, one]) => `, ${field}: ${this.of(one, scope, inner)}`)
        return `{ ${type.tag}: ${JSON.stringify(name)}${rest.join("")} }`
      }
      case "ref":
        return this.of(type.to(), scope, Math.min(depth, 2) - 1)
      case "any":
        return this.of(string, scope, inner)
    }
  }

  /** The members of another tuple, each one place further: what goes round reaches every place in the end. */
  #shifted(of: readonly WireType[], scope: Scope): string | undefined {
    const [first] = of
    const isUniform = first !== undefined && of.every((one) => sameType(one, first))
    if (!isUniform || !this.#random.chance(0.5)) return undefined
    const found = this.#found({ kind: "tuple", of }, scope)
    if (found === undefined) return undefined
    const members = of.map((_, index) => `${found}[${(index + of.length - 1) % of.length}]`)
    return `[${[this.#random.chance(0.5) ? this.of(first, scope, 0) : members[0], ...members.slice(1)].join(", ")}]`
  }

  #map(of: WireType, scope: Scope, depth: number): string {
    const random = this.#random
    const [key, value] = [(): string => this.of(string, scope, depth - 1), (): string => this.of(of, scope, depth - 1)]
    if (depth <= 0 || random.chance(0.4)) return `{ ["k"]: ${value()} }`
    if (random.chance(0.5)) return `{ [${key()}]: ${value()}, [${key()}]: ${value()} }`
    const name = `one${this.#names++}`
    const list = this.of(arrayOf(string), scope, depth - 1)
    return `{ [${name}]: ${value()} for ${name} in ${list} when ${name} != "" }`
  }

  #object(fields: Fields, scope: Scope, depth: number): string {
    return `{ ${fields.map(([name, one]) => `${name}: ${this.of(one, scope, depth)}`).join(", ")} }`
  }

  #text(scope: Scope, depth: number): string {
    const random = this.#random
    const words = random.pick(["x", "y z", "", "2026-01-05", "a", "7"])
    if (depth <= 0 || random.chance(0.15)) return JSON.stringify(words)
    switch (random.below(8)) {
      case 0:
        return `upper("{{ ${this.any(scope, depth - 1).text} }} ${words}")`
      case 1: {
        if (!scope.mayCall) return `json(${this.any(scope, depth - 1).text})`
        const call = this.#callables.call(scope, depth - 1)
        return call === undefined ? JSON.stringify(words) : `json(${call.text})`
      }
      case 2: {
        if (this.#exceptions.trusted.length === 0) return JSON.stringify(words)
        const [path, word] = random.chance(0.5)
          ? ([random.pick(this.#exceptions.trusted), "trust"] as const)
          : ([random.pick(this.#exceptions.released), "release"] as const)
        if (random.chance(0.6)) return `(${word} ${path} because "They differ in no two runs")`
        return `${word} ("{{ ${path} }}!" ) because "They differ in no two runs"`
      }
      case 3:
        return `json(${this.any(scope, depth - 1).text})`
      case 4:
        return this.#partOf(scope, depth - 1)
      default:
        return `"${words} {{ ${this.any(scope, depth - 1).text} }} {{ ${this.any(scope, depth - 1).text} }}"`
    }
  }

  /** A part of a value that is computed where it stands. */
  #partOf(scope: Scope, depth: number): string {
    const isVariant = (one: WireType): boolean => one.kind === "maybe" && resolved(one.of).kind === "variant"
    const left = this.#random.chance(0.6) ? this.#walkTo(isVariant, scope) : undefined
    const kind = left === undefined ? undefined : resolved(left.type)
    const variant = kind?.kind === "maybe" ? resolved(kind.of) : undefined
    if (left !== undefined && variant?.kind === "variant") {
      const [name, fields] = this.#random.pick(variant.cases)
      const part = fields.length === 0 ? "" : `.${this.#random.pick(fields)[0]}`
      return `text((${left.text} ?? ${this.#made(variant, scope, depth)})#${name}${part})`
    }
    const whole = this.#walkTo((one) => (one.kind === "record" && one.fields.length > 0) || one.kind === "tuple", scope)
    const type = whole === undefined ? undefined : resolved(whole.type)
    if (type?.kind === "record") return `text((${this.of(type, scope, depth)}).${this.#random.pick(type.fields)[0]})`
    if (type?.kind === "tuple") return `text((${this.of(type, scope, depth)})[${this.#random.below(type.of.length)}])`
    return JSON.stringify("x")
  }

  #integer(scope: Scope, depth: number): string {
    const random = this.#random
    const again = (): string => this.of(integer, scope, depth)
    switch (random.below(6)) {
      case 0:
        return `(${again()} ${random.pick(["+", "-", "*", "%"])} ${random.pick(["1", "2", "3"])})`
      case 1:
        return `-(${again()})`
      case 2:
        return scope.isEarly === true ? again() : "length(run.date)"
      default:
        return `length(${this.of(random.chance(0.5) ? string : this.#listType(scope), scope, depth)})`
    }
  }

  #condition(scope: Scope, depth: number): string {
    const random = this.#random
    const text = (): string => this.of(string, scope, depth)
    switch (random.below(9)) {
      case 0:
        return `(${this.of(boolean, scope, depth)} ${random.pick(["&&", "||"])} ${this.of(boolean, scope, depth)})`
      case 1:
        return `!(${this.of(boolean, scope, depth)})`
      case 2: {
        const { text: tested } = this.#walkTo((one) => one.kind === "maybe", scope) ?? { text: "" }
        return tested === "" ? "true" : `(${tested} ${random.pick(["==", "!="])} null)`
      }
      case 3: {
        const choice = this.#walkTo((one) => one.kind === "enum", scope)
        const kind = choice === undefined ? undefined : resolved(choice.type)
        return kind?.kind === "enum" ? `(${choice?.text} == ${JSON.stringify(random.pick(kind.values))})` : "true"
      }
      case 4: {
        const variant = this.#walkTo((one) => one.kind === "variant", scope)
        const kind = variant === undefined ? undefined : resolved(variant.type)
        return kind?.kind === "variant" ? `(${variant?.text}#${random.pick(kind.cases)[0]} != null)` : "true"
      }
      default: {
        const operator = random.pick(comparisons)
        if (operator === "contains") return `(${text()} contains "a")`
        if (operator === "in") return `(${text()} in ${this.of(arrayOf(string), scope, depth)})`
        if (random.chance(0.4)) return `(${text()} ${operator} ${text()})`
        if (operator === "==" || operator === "!=") return `(${text()} ${operator} ${text()})`
        return `(length(${text()}) ${operator} ${random.below(30)})`
      }
    }
  }

  // ---------------------------------------------------------------------------------------------------------- lists

  #listType(scope: Scope): WireType {
    const found = paths(scope).flatMap(({ type }) => (resolved(type).kind === "array" ? [type] : []))
    return found.length > 0 && this.#random.chance(0.7) ? this.#random.pick(found) : arrayOf(string)
  }

  /** An array that a loop can go over, and the type of its elements. */
  list(scope: Scope, depth: number): { readonly text: string; readonly element: WireType } {
    const random = this.#random
    const found = this.#walkTo((one) => one.kind === "array" || one.kind === "tuple", scope)
    if (found !== undefined && random.chance(0.75)) {
      const kind = resolved(found.type)
      if (kind.kind === "array") return { text: found.text, element: kind.of }
      if (kind.kind === "tuple" && kind.of.every((one) => sameType(one, kind.of[0] ?? one))) {
        return { text: found.text, element: kind.of[0] ?? string }
      }
    }
    return { text: this.#array({ kind: "array", of: string }, scope, depth), element: string }
  }

  #array(type: WireType & { kind: "array" }, scope: Scope, depth: number): string {
    const random = this.#random
    const { of, length } = type
    const items = (count: number): string => `[${random.list(count, () => this.of(of, scope, depth - 1)).join(", ")}]`
    if (length !== undefined) return items(length)
    if (depth <= 0) return items(of.kind === "ref" ? 0 : 1)
    if (random.chance(0.45)) return items(1 + random.below(2))
    return this.#listFrom(of, scope, depth - 1)
  }

  #listFrom(of: WireType, scope: Scope, depth: number): string {
    const random = this.#random
    const { text, element } = this.list(quiet(scope), depth)
    const { pattern, variables } = this.pattern(element)
    const inner: Scope = {
      ...scope,
      roots: [...scope.roots, ...variables, ...variables],
      mayCall: scope.mayCall && scope.loops < 1,
      loops: scope.loops + 1,
    }
    const when = random.chance(0.35) ? ` when ${this.of(boolean, quiet(inner), depth)}` : ""
    const by = random.chance(0.2)
      ? ` by ${this.of(random.pick([string, integer]), quiet(inner), depth)}${random.chance(0.5) ? " descending" : ""}`
      : ""
    return `[${this.of(of, inner, depth)} for ${pattern} in ${text}${when}${by}]`
  }

  /** The head of a loop, and what its names are. */
  pattern(element: WireType): { readonly pattern: string; readonly variables: readonly Value[] } {
    const kind = resolved(element)
    const name = `v${this.#names++}`
    if (this.#random.chance(0.2)) {
      const index = { text: `${name}_at`, type: integer }
      return { pattern: `${name}, ${index.text}`, variables: [{ text: name, type: element }, index] }
    }
    if (kind.kind !== "record" || kind.fields.length === 0 || this.#random.chance(0.6)) {
      return { pattern: name, variables: [{ text: name, type: element }] }
    }
    const fields = kind.fields.slice(0, 2)
    return {
      pattern: `{ ${fields.map(([field], index) => `${field}: ${name}_${index}`).join(", ")} }`,
      variables: fields.map(([, type], index) => ({ text: `${name}_${index}`, type })),
    }
  }

  // -------------------------------------------------------------------------------------------------------- functions

  #byFunction(type: WireType, scope: Scope, depth: number): string | undefined {
    const makers = functionNames.filter((name) => functionMakers[name].gives(type))
    if (makers.length === 0) return undefined
    return functionMakers[this.#random.pick(makers)].make(this.#forFunctions(type, scope, depth))
  }

  #forFunctions(wanted: WireType, scope: Scope, depth: number): Arguments {
    return {
      random: this.#random,
      wanted,
      isEarly: scope.isEarly === true,
      of: (type) => this.of(type, scope, depth),
      any: () => this.any(scope, depth),
      list: () => this.list(quiet(scope), depth),
    }
  }

  // ------------------------------------------------------------------------------------------------------- any value

  /** Some value, to be shown: its type is whatever it is. */
  any(scope: Scope, depth: number): Value {
    const random = this.#random
    if (depth > 0 && random.chance(0.2)) {
      const call = scope.mayCall ? this.#callables.call(scope, depth - 1) : undefined
      if (call !== undefined) return { text: call.text, type: call.type }
    }
    if (depth > 0 && random.chance(0.25)) {
      const name = random.pick(functionNames)
      const { gives, make, result } = functionMakers[name]
      const wanted = result ?? [string, integer, number, boolean, arrayOf(string)].find(gives) ?? arrayOf(string)
      return { text: make(this.#forFunctions(wanted, scope, depth - 1)), type: untyped }
    }
    if (depth > 0 && random.chance(0.15)) {
      const fields: Fields = [
        ["p", string],
        ["q", this.#anyType(scope)],
      ]
      const text = this.#object(fields, scope, depth - 1)
      return { text: random.chance(0.5) ? text : `(${text}).q`, type: record(...fields) }
    }
    return this.#recent(paths(scope))
  }

  #anyType(scope: Scope): WireType {
    const { type } = this.#random.pick(paths(scope))
    return type.kind === "any" ? string : type
  }

  /** Fails on some values. */
  fragile(scope: Scope, depth: number): string {
    const text = this.of(string, scope, depth)
    return this.#random.pick([
      `10 / (length(${text}) % 2)`,
      `parse_json(${text})`,
      `add_days(${text}, 1)`,
      `range(length(${text}) * 10_001)`,
    ])
  }
}

/** Values of it have the same type wherever they are written out. */
function isPlain(type: WireType): boolean {
  return ["string", "integer", "number", "boolean"].includes(type.kind)
}

/** The same place without calls. */
export function quiet(scope: Scope): Scope {
  return scope.mayCall ? { ...scope, mayCall: false } : scope
}

// --------------------------------------------------------------------------------------------------------------- paths

const known = new WeakMap<readonly Value[], readonly Value[]>()

/** All values in scope, and their parts some steps down. */
function paths({ roots }: Scope): readonly Value[] {
  const before = known.get(roots)
  if (before !== undefined) return before
  const all: Value[] = []
  roots.forEach(({ text, type }, root) => {
    const parts: Value[] = []
    follow(text, type, false, 3, parts)
    for (const part of parts) all.push({ ...part, root })
  })
  if (all.length === 0) all.push({ text: '"nothing"', type: string })
  known.set(roots, all)
  return all
}

/** `isOptional`: a step before may have found nothing, so that the value is null then. */
function follow(text: string, type: WireType, isOptional: boolean, depth: number, all: Value[]): void {
  const kind = resolved(type)
  all.push({ text, type: isOptional ? maybe(type) : type })
  if (depth === 0) return
  const next = (step: string, of: WireType, optional = isOptional): void => {
    follow(`${text}${step}`, of, optional, depth - 1, all)
  }
  switch (kind.kind) {
    case "record":
      for (const [name, of] of kind.fields) next(`.${name}`, of)
      return
    case "maybe": {
      const inner = resolved(kind.of)
      if (inner.kind === "record") for (const [name, of] of inner.fields) next(`?.${name}`, of, true)
      if (inner.kind === "array" && inner.length === undefined) next("?.[0]", maybe(inner.of), true)
      return
    }
    case "array":
      next("[0]", kind.length === undefined ? maybe(kind.of) : kind.of)
      if (!isOptional) pluck(text, kind.of, depth, all)
      return
    case "tuple":
      kind.of.forEach((of, index) => next(`[${index}]`, of))
      return
    case "variant":
      if (isOptional) return
      for (const [name, fields] of kind.cases) {
        next(`#${name}`, record([kind.tag, { kind: "literal", value: name }], ...fields), true)
      }
      return
    case "map": {
      if (isOptional) return
      const entries = record(["key", string], ["value", kind.of])
      follow(`at(${text}, "k")`, maybe(kind.of), false, depth - 1, all)
      follow(`keys(${text})`, arrayOf(string), false, 0, all)
      follow(`values(${text})`, arrayOf(kind.of), false, depth - 1, all)
      follow(`entries(${text})`, arrayOf(entries), false, depth - 1, all)
      return
    }
    case "any":
      if (kind.like.kind !== "record") return
      for (const [name] of kind.like.fields) next(`.${name}`, { kind: "any", like: string })
      return
    default:
      return
  }
}

/** The rest of a chain after a pluck is read in each element: parentheses end it. */
function pluck(text: string, of: WireType, depth: number, all: Value[]): void {
  const element = resolved(of)
  const inner = element.kind === "maybe" ? resolved(element.of) : element
  if (inner.kind !== "record") return
  for (const [name, type] of inner.fields) {
    const mayBeNull = element.kind === "maybe" || resolved(type).kind === "maybe"
    const stars = mayBeNull ? "**" : name.length % 2 === 0 ? "***" : "*"
    follow(`(${text}.${stars}.${name})`, arrayOf(withoutMaybe(type)), false, depth - 1, all)
    const part = resolved(type)
    if (mayBeNull || part.kind !== "record") continue
    for (const [further, one] of part.fields) follow(`(${text}.*.${name}.${further})`, arrayOf(one), false, 0, all)
  }
}

function withoutMaybe(type: WireType): WireType {
  const kind = resolved(type)
  return kind.kind === "maybe" ? kind.of : type
}

// ----------------------------------------------------------------------------------------------------------- functions

interface Arguments {
  readonly random: Random
  readonly wanted: WireType
  readonly isEarly: boolean
  readonly of: (type: WireType) => string
  readonly any: () => Value
  readonly list: () => { readonly text: string; readonly element: WireType }
}

interface FunctionMaker {
  /** Whether it can give a value of the type. */
  readonly gives: (type: WireType) => boolean
  readonly make: (given: Arguments) => string
  /** The type of what it gives, where that is not one of the plain ones. */
  readonly result?: WireType
}

const is =
  (...kinds: readonly WireType["kind"][]) =>
  (type: WireType): boolean =>
    kinds.includes(type.kind)
const isTexts = (type: WireType): boolean =>
  type.kind === "array" && type.length === undefined && type.of.kind === "string"
const isList = (type: WireType): boolean => type.kind === "array" && type.length === undefined
const never = (): boolean => false
const maker = (
  gives: (type: WireType) => boolean,
  make: (given: Arguments) => string,
  result?: WireType,
): FunctionMaker => ({
  gives,
  make,
  ...(result !== undefined && { result }),
})
const texts = arrayOf(string)
const numbers = arrayOf(number)
const day = '"2026-02-03"'
const aDay = ({ of, random, isEarly }: Arguments): string =>
  isEarly || random.chance(0.7) ? day : `slice(run.date, 0, length(${of(string)}) + 100)`

const entry = record(["key", string], ["value", string])
const counted = record(["key", string], ["count", integer])

/** What `failure(…)` is. The steps whose failures can be asked for are among the roots. */
export const failure: WireType = maybe(record(["kind", string], ["message", string]))

/** One way to write each function. A function without one does not compile. */
export const functionMakers: Readonly<Record<FunctionName, FunctionMaker>> = {
  length: maker(is("integer"), ({ of, list, random }) => `length(${random.chance(0.5) ? of(string) : list().text})`),
  lower: maker(is("string"), ({ of }) => `lower(${of(string)})`),
  upper: maker(is("string"), ({ of }) => `upper(${of(string)})`),
  trim: maker(is("string"), ({ of }) => `trim(${of(string)})`),
  split: maker(isTexts, ({ of }) => `split(${of(string)}, "a")`),
  lines: maker(isTexts, ({ of }) => `lines(${of(string)})`),
  join: maker(is("string"), ({ of, random }) => `join(${of(random.pick([texts, numbers]))}, ${of(string)})`),
  replace: maker(is("string"), ({ of }) => `replace(${of(string)}, "a", ${of(string)})`),
  starts_with: maker(is("boolean"), ({ of }) => `starts_with(${of(string)}, ${of(string)})`),
  ends_with: maker(is("boolean"), ({ of }) => `ends_with(${of(string)}, ${of(string)})`),
  slice: maker(
    (type) => type.kind === "string" || isList(type),
    ({ of, wanted, random }) => `slice(${of(wanted)}, ${of(integer)}${random.chance(0.5) ? `, ${of(integer)}` : ""})`,
  ),
  at: maker(
    (type) => type.kind === "maybe" && type.of.kind === "string",
    ({ of, random }) =>
      random.chance(0.5) ? `at(${of(texts)}, ${of(integer)})` : `at(entries({ made: ${of(string)} }), 0)?.key`,
    maybe(string),
  ),
  text: maker(is("string"), ({ any }) => `text(${any().text})`),
  json: maker(is("string"), ({ any }) => `json(${any().text})`),
  parse_json: maker(never, ({ any }) => `parse_json(json(${any().text}))`, string),
  csv: maker(is("string"), ({ of }) => `csv([{ a: ${of(string)}, b: ${of(integer)} }])`),
  parse_csv: maker(never, ({ of }) => `parse_csv(csv([{ a: ${of(string)} }]))[0].a`, string),
  number: maker(
    (type) => type.kind === "maybe" && type.of.kind === "number",
    ({ of }) => `number(${of(string)})`,
    maybe(number),
  ),
  fixed: maker(is("string"), ({ of }) => `fixed(${of(number)}, 2)`),
  abs: maker(is("number", "integer"), ({ of, wanted }) => `abs(${of(wanted)})`),
  round: maker(is("integer", "number"), ({ of, wanted }) =>
    wanted.kind === "integer" ? `round(${of(number)})` : `round(${of(number)}, 1)`,
  ),
  floor: maker(is("integer"), ({ of }) => `floor(${of(number)})`),
  ceil: maker(is("integer"), ({ of }) => `ceil(${of(number)})`),
  sum: maker(is("integer", "number"), ({ of, wanted }) => `sum(${of(arrayOf(wanted))})`),
  min: maker(is("integer"), ({ of }) => `(min(${of(arrayOf(integer))}) ?? 0)`),
  max: maker(is("string"), ({ of }) => `(max(${of(texts)}) ?? "")`),
  average: maker(is("number"), ({ of }) => `(average(${of(numbers)}) ?? 0)`),
  first: maker(
    (type) => type.kind === "maybe",
    ({ of, wanted }) => `first(${of(arrayOf(inMaybe(wanted)))})`,
    maybe(string),
  ),
  last: maker(
    (type) => type.kind === "maybe",
    ({ of, wanted }) => `last(${of(arrayOf(inMaybe(wanted)))})`,
    maybe(string),
  ),
  reverse: maker(isList, ({ of, wanted }) => `reverse(${of(wanted)})`),
  unique: maker(isList, ({ of, wanted }) => `unique(${of(wanted)})`),
  flatten: maker(isList, ({ of, wanted }) => `flatten(${of(arrayOf(wanted))})`),
  concat: maker(isList, ({ of, wanted }) => `concat(${of(wanted)}, ${of(wanted)})`),
  chunks: maker(
    (type) => isList(type) && type.kind === "array" && isList(type.of),
    ({ of, wanted }) => `chunks(${of(wanted.kind === "array" && wanted.of.kind === "array" ? wanted.of : texts)}, 2)`,
    arrayOf(texts),
  ),
  zip: maker(
    (type) => isList(type) && type.kind === "array" && type.of.kind === "tuple" && type.of.of.length === 2,
    ({ of, wanted }) => {
      const [left = string, right = string] = wanted.kind === "array" && wanted.of.kind === "tuple" ? wanted.of.of : []
      return `zip(${of(arrayOf(left))}, ${of(arrayOf(right))})`
    },
    arrayOf({ kind: "tuple", of: [string, string] }),
  ),
  range: maker(
    (type) => isList(type) && type.kind === "array" && type.of.kind === "integer",
    ({ of }) => `range(length(${of(string)}) % 4)`,
  ),
  any: maker(is("boolean"), ({ of }) => `any(${of(arrayOf(boolean))})`),
  all: maker(is("boolean"), ({ of }) => `all(${of(arrayOf(boolean))})`),
  keys: maker(isTexts, ({ of }) => `keys({ made: ${of(string)} })`),
  values: maker(isTexts, ({ of }) => `values({ a: ${of(string)}, b: ${of(string)} })`),
  entries: maker(
    (type) => isList(type) && type.kind === "array" && sameType(type.of, entry),
    ({ of }) => `entries({ a: ${of(string)}, b: ${of(string)} })`,
    arrayOf(record(["key", string], ["value", string])),
  ),
  from_entries: maker(isTexts, ({ of, random }) => {
    const list = of(arrayOf(string))
    const key = of(string)
    return random.chance(0.5)
      ? `values(from_entries([{ key: ${key}, value: ${of(string)} }]))`
      : `keys({ [one]: 1 for one in ${list} })`
  }),
  merge: maker(
    (type) => type.kind === "record" && type.fields.length > 0,
    ({ of, wanted }) => {
      const fields = wanted.kind === "record" ? wanted.fields : []
      return `merge(${of(record(...fields))}, { ${fields
        .slice(0, 1)
        .map(([name, type]) => `${name}: ${of(type)}`)
        .join("")} })`
    },
    record(["a", string]),
  ),
  add_days: maker(is("string"), (given) => `add_days(${aDay(given)}, ${given.of(integer)})`),
  days_between: maker(is("integer"), (given) => `days_between(${aDay(given)}, ${day})`),
  weekday: maker(is("string"), (given) => `text(weekday(${aDay(given)}))`),
  pieces: maker(isTexts, ({ of }) => `pieces(${of(string)}, 3)`),
  group_by: maker(
    never,
    ({ of }) => `group_by([{ k: ${of(string)}, v: ${of(string)} }, { k: "a", v: "b" }], "k")`,
    arrayOf(record(["key", string], ["items", arrayOf(record(["k", string], ["v", string]))])),
  ),
  count_by: maker(
    (type) => isList(type) && type.kind === "array" && sameType(type.of, counted),
    ({ of }) => `count_by([{ k: ${of(string)} }, { k: ${of(string)} }], "k")`,
    arrayOf(counted),
  ),
  add_seconds: maker(is("string"), (given) => `add_seconds(${aDay(given)}, ${given.of(integer)})`),
  seconds_between: maker(is("number"), (given) => `seconds_between(${aDay(given)}, ${day})`),
  format_date: maker(is("string"), (given) => `format_date(${aDay(given)}, ${given.of(string)}, "Europe/Berlin")`),
  date_of: maker(is("string"), (given) => `date_of(${aDay(given)}, "Europe/Berlin")`),
  matches: maker(is("boolean"), ({ of }) => `matches(${of(string)}, "^[a-m]")`),
  find: maker(
    (type) => type.kind === "maybe" && type.of.kind === "string",
    ({ of }) => `find(${of(string)}, "[0-9](.)")`,
    maybe(string),
  ),
  find_all: maker(isTexts, ({ of }) => `find_all(${of(string)}, "(?i)[a-m]+")`),
  replace_all: maker(is("string"), ({ of }) => `replace_all(${of(string)}, "([a-m])", ${of(string)})`),
  sha256: maker(is("string"), ({ of }) => `sha256(${of(string)})`),
  base64: maker(is("string"), ({ of }) => `base64(${of(string)})`),
  from_base64: maker(
    (type) => type.kind === "maybe" && type.of.kind === "string",
    ({ of }) => `from_base64(base64(${of(string)}))`,
    maybe(string),
  ),
  failure: maker(never, ({ of }) => of(failure), failure),
  // They call the store of files.
  make_file: maker(never, ({ of }) => `make_file("a.txt", ${of(string)})`),
  text_of: maker(never, ({ of }) => `text_of(make_file("a.txt", ${of(string)}))`),
  url_encode: maker(is("string"), ({ of }) => `url_encode(${of(string)})`),
}

const functionNames = Object.keys(functionMakers) as readonly FunctionName[]

function inMaybe(type: WireType): WireType {
  return type.kind === "maybe" ? type.of : type
}
