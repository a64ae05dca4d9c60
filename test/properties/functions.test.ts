import assert from "node:assert/strict"
import { test } from "node:test"
import { createHash } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import {
  functionNames,
  functionRow,
  isFileFunction,
  isValueFunction,
  parametersOf,
} from "../../src/check/function-table.ts"
import { formatText } from "../../src/syntax/format.ts"
import { showType } from "../../src/types/show-type.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import { evaluateText } from "../support/evaluate-text.ts"
import { assertOften, atStrength, soakSeed } from "../support/strength.ts"
import type { Random } from "./arbitraries.ts"
import { randomFrom, randomValue } from "./arbitraries.ts"

// Random expressions of arithmetic and functions, each with what a second evaluator makes of it: the one below, which goes about
// everything in another way.

/** The expression has no value: an `evaluation_error`. */
class NoValue extends Error {}

interface Known<T extends JsonValue> {
  readonly text: string
  readonly value: () => T
}

const header = `input {
    s: string
    t: string
    x: number
    y: number
    i: integer
    j: integer
    b: boolean
    ss: [string]
    xs: [number]
    is: [integer]
}`

const someTexts = [
  "",
  "a",
  "é",
  "😀b",
  " a,b ",
  "A-b-A",
  "ß",
  "Σας",
  "1.5",
  "-0",
  "1e3",
  "\r\nx\n",
  "ｚ",
  "2026-02-28",
  "\ud800",
]
const someNumbers = [0, 1, -1, 2.5, -2.5, 0.1, 1.005, 1e21, 1e-7, -1234.5678, 0.49999999999999994, 9007199254740991]
const someIntegers = [0, 1, -1, 2, 3, 15, -7, 9007199254740991, 100001]
const someDates = ["2026-02-28", "2024-02-29T23:30:00-01:00", "1969-12-31T00:30:00.5+01:00", "0001-01-01", "no date"]

class Generator {
  readonly random: Random
  readonly input: JsonObject

  constructor(random: Random) {
    this.random = random
    const some = <T>(from: readonly T[]): T[] => Array.from({ length: random.below(4) }, () => random.pick(from))
    this.input = {
      s: random.pick(someTexts),
      t: random.pick(someTexts),
      x: random.pick(someNumbers),
      y: random.pick(someNumbers),
      i: random.pick(someIntegers),
      j: random.pick(someIntegers),
      b: random.below(2) === 0,
      ss: some(someTexts),
      xs: some(someNumbers),
      is: some(someIntegers),
    }
  }

  #read<T extends JsonValue>(...names: readonly string[]): Known<T> {
    const name = this.random.pick(names)
    return { text: `input.${name}`, value: () => this.input[name] as T }
  }

  text(fuel: number): Known<string> {
    if (fuel <= 0) return this.#read("s", "t")
    const [a, b, c] = [(): Known<string> => this.text(fuel - 1), () => this.text(fuel - 2), () => this.text(0)]
    switch (this.random.below(13)) {
      case 0:
        return call("lower", [a()], (s) => s.toLowerCase())
      case 1:
        return call("upper", [a()], (s) => s.toUpperCase())
      case 2:
        return call("trim", [a()], (s) => s.replace(/^\s+/u, "").replace(/\s+$/u, ""))
      case 3:
        return call("join", [this.texts(fuel - 1), c()], (list, separator) => joined(list, separator))
      case 4:
        return call("replace", [a(), b(), c()], (s, from, to) => {
          if (from === "") throw new NoValue()
          return joined(s.split(from), to)
        })
      case 5: {
        const [from, to] = [this.integer(fuel - 2), this.integer(fuel - 2)]
        return call("slice", [a(), from, to], (s, start, end) => Array.from(s).slice(start, end).join(""))
      }
      case 6:
        return call("text", [this.number(fuel - 1)], (n) => JSON.stringify(n))
      case 7:
        return call("json", [this.texts(fuel - 1)], (list) => `[${list.map((one) => JSON.stringify(one)).join()}]`)
      case 8:
        return call("fixed", [this.number(fuel - 1), this.#digits()], (n, digits) => decimal(n, digits))
      case 9: {
        const date = this.#date()
        return call("add_days", [date, this.integer(0)], (day, n) => {
          const time = timeOf(day.slice(0, 10)) + n * 86_400_000
          timeOf(day)
          const later = Number.isFinite(time) && Math.abs(time) < 8.64e15 ? new Date(time).toISOString() : "+"
          if (!/^\d{4}-/.test(later)) throw new NoValue()
          return later.slice(0, 10) + day.slice(10)
        })
      }
      case 11:
        return this.#later(a, b)
      case 10: {
        const [one, other] = [a(), this.number(fuel - 2)]
        return {
          text: `"<{{ ${one.text} }}|{{ ${other.text} }}>"`,
          value: () => `<${one.value()}|${JSON.stringify(other.value())}>`,
        }
      }
      default:
        return this.#read("s", "t")
    }
  }

  /** Hashes, encodings, patterns and times. */
  #later(a: () => Known<string>, b: () => Known<string>): Known<string> {
    switch (this.random.below(7)) {
      case 0:
        return call("sha256", [a()], (s) => createHash("sha256").update(Buffer.from(s)).digest("hex"))
      case 1:
        return call("base64", [a()], (s) => btoa(String.fromCharCode(...Buffer.from(s))))
      case 2:
        return call("url_encode", [a()], (s) => encodeURIComponent(s.toWellFormed()))
      case 3: {
        const source = this.random.pick(["[a-z]", "(.)b", "^A", "x*", "[0-9]+|b"])
        const pattern = { text: JSON.stringify(source), value: () => source }
        return call("replace_all", [a(), pattern, b()], (s, p, to) =>
          withoutEmptyAfter(s, p, (groups) =>
            to.replaceAll(/\$([1-9])/g, (text, at: string) =>
              Number(at) < groups.length ? (groups[Number(at)] ?? "") : text,
            ),
          ),
        )
      }
      case 4:
        return call("join", [this.texts(0), { text: '""', value: () => "" }], (list) => joined(list, ""))
      case 5: {
        const size = this.random.pick([1, 2, 7])
        const text = a()
        return { text: `join(pieces(${text.text}, ${size}), "")`, value: text.value }
      }
      default: {
        const n = this.random.pick([0, 1, -86_400, 59])
        const seconds = { text: String(n), value: () => n }
        return call("format_date", [call("add_seconds", [this.#date(), seconds], later), shape], (time) =>
          new Date(timeOf(time)).toISOString().slice(0, 19).replace("T", " "),
        )
      }
    }
  }

  #date(): Known<string> {
    const date = this.random.pick(someDates)
    return { text: JSON.stringify(date), value: () => date }
  }

  #digits(): Known<number> {
    const digits = this.random.pick([0, 1, 2, 15, 16])
    return { text: String(digits), value: () => digits }
  }

  number(fuel: number): Known<number> {
    if (fuel <= 0) return this.#read("x", "y", "i", "j")
    const [a, b] = [(): Known<number> => this.number(fuel - 1), () => this.number(fuel - 2)]
    switch (this.random.below(9)) {
      case 0:
        return this.#operation(a(), b(), false)
      case 1:
        return { ...negated(a()) }
      case 2:
        return call("abs", [a()], (n) => (n < 0 ? -n : n === 0 ? 0 : n))
      case 3:
        return call("round", [a(), this.#digits()], (n, digits) => finite(Number(decimal(n, digits))))
      case 4:
        return call("sum", [this.numbers(fuel - 1)], (list) => finite(list.reduce((total, one) => total + one, 0)))
      case 5:
        return orZero(call("number", [this.text(fuel - 1)], numberIn))
      case 6:
        return orZero(
          call("max", [this.numbers(fuel - 1)], (list) => list.toSorted((one, other) => other - one)[0] ?? null),
        )
      case 7:
        return orZero(call("at", [this.numbers(fuel - 1), this.integer(0)], (list, at) => list.at(at) ?? null))
      default:
        return this.integer(fuel - 1)
    }
  }

  integer(fuel: number): Known<number> {
    if (fuel <= 0) return this.#read("i", "j")
    switch (this.random.below(9)) {
      case 0:
        return this.#operation(this.integer(fuel - 1), this.integer(fuel - 2), true)
      case 1:
        return call("length", [this.text(fuel - 1)], (s) => Array.from(s).length)
      case 2:
        return call("length", [this.texts(fuel - 1)], (list) => list.length)
      case 3:
        return call("round", [this.number(fuel - 1)], (n) => safe(Number(decimal(n, 0))))
      case 4:
        return call("floor", [this.number(fuel - 1)], (n) =>
          safe(n < Math.trunc(n) ? Math.trunc(n) - 1 : Math.trunc(n)),
        )
      case 5:
        return call("ceil", [this.number(fuel - 1)], (n) => safe(n > Math.trunc(n) ? Math.trunc(n) + 1 : Math.trunc(n)))
      case 6: {
        const exact = (list: readonly number[]): number => {
          const total = list.map(BigInt).reduce((before, one) => before + one, 0n)
          if (total > 9007199254740991n || total < -9007199254740991n) throw new NoValue()
          return Number(total)
        }
        return call("sum", [this.integers(fuel - 1)], exact)
      }
      case 7:
        return call("days_between", [this.#date(), this.#date()], (one, other) => {
          return Math.floor(timeOf(other) / 86_400_000) - Math.floor(timeOf(one) / 86_400_000)
        })
      default:
        return orZero(call("first", [this.integers(fuel - 1)], (list) => list[0] ?? null))
    }
  }

  /** Never by what is written out, which the checker would refuse where it is zero. */
  #operation(one: Known<number>, other: Known<number>, integer: boolean): Known<number> {
    const sign = this.random.pick(integer ? ["+", "-", "*", "%"] : ["+", "-", "*", "/", "%"])
    // Two numbers may be typed as integers, so that their sum must be exact.
    const text = integer ? `(${one.text} ${sign} ${other.text})` : `(${one.text} ${sign} (input.x * 0 + ${other.text}))`
    const right = (): number => other.value()
    const value = (): number => {
      const [a, b] = [one.value(), right()]
      if (b === 0 && (sign === "/" || sign === "%")) throw new NoValue()
      const found = { "+": a + b, "-": a - b, "*": a * b, "/": a / b, "%": a % b }[sign] ?? 0
      return integer ? safe(found) : finite(found)
    }
    return { text, value }
  }

  texts(fuel: number): Known<string[]> {
    if (fuel <= 0) return this.#read("ss")
    switch (this.random.below(7)) {
      case 0:
        return call("split", [this.text(fuel - 1), this.text(0)], (s, at) => (at === "" ? Array.from(s) : s.split(at)))
      case 1:
        return call("lines", [this.text(fuel - 1)], (s) => {
          const found = s.replaceAll("\r\n", "\n").replaceAll("\r", "\n").split("\n")
          return found.at(-1) === "" ? found.slice(0, -1) : found
        })
      default:
        return this.#list((less) => this.texts(less), fuel, "ss")
    }
  }

  numbers(fuel: number): Known<number[]> {
    return this.#list((less) => this.numbers(less), fuel, "xs")
  }

  integers(fuel: number): Known<number[]> {
    if (fuel > 0 && this.random.below(4) === 0) {
      const [from, to] = [this.integer(0), this.integer(0)]
      return call("range", [from, to], (first, end) => {
        if (end - first > 100_000) throw new NoValue()
        return end <= first ? [] : [...Array(end - first).keys()].map((at) => at + first)
      })
    }
    return this.#list((less) => this.integers(less), fuel, "is")
  }

  #list<T extends string | number>(make: (fuel: number) => Known<T[]>, fuel: number, name: string): Known<T[]> {
    if (fuel <= 0) return this.#read(name)
    const list = make(fuel - 1)
    switch (this.random.below(8)) {
      case 0:
        return call("reverse", [list], (items) => items.map((_, at) => items[items.length - 1 - at] as T))
      case 1:
        return call("unique", [list], (items) => {
          // A range may have 100,000 elements.
          if (items.every((one) => typeof one === "number")) return [...new Set(items)]
          return items.filter((one, at) => items.findIndex((other) => isDeepStrictEqual(one, other)) === at)
        })
      case 2:
        return call("concat", [list, make(fuel - 2)], (one, other) => [...one, ...other])
      case 3: {
        const size = this.random.pick([1, 2, 5])
        const text = `flatten(chunks(${list.text}, ${size}))`
        return { text, value: list.value }
      }
      case 4: {
        const [from, to] = [this.integer(0), this.integer(0)]
        return call("slice", [list, from, to], (items, start, end) => items.slice(start, end))
      }
      case 5:
        return { text: `[pair[0] for pair in zip(${list.text}, ${list.text})]`, value: list.value }
      case 6: {
        const value = (): T[] => list.value()
        return { text: `merge({ a: 1 }, { b: 1, a: ${list.text} }).a`, value }
      }
      default:
        return this.#read(name)
    }
  }

  boolean(fuel: number): Known<boolean> {
    switch (this.random.below(5)) {
      case 0:
        return call("starts_with", [this.text(fuel - 1), this.text(0)], (s, t) => s.slice(0, t.length) === t)
      case 1:
        return call("ends_with", [this.text(fuel - 1), this.text(0)], (s, t) => t === "" || s.slice(-t.length) === t)
      case 2: {
        const list = this.numbers(fuel - 1)
        return { text: `any([n > 1 for n in ${list.text}])`, value: () => list.value().some((n) => n > 1) }
      }
      case 3: {
        const list = this.numbers(fuel - 1)
        return { text: `all([n > 1 for n in ${list.text}])`, value: () => list.value().every((n) => n > 1) }
      }
      default: {
        const [one, other] = [this.number(fuel - 1), this.number(fuel - 1)]
        return { text: `${one.text} < ${other.text}`, value: () => one.value() < other.value() }
      }
    }
  }

  any(fuel: number): Known<JsonValue> {
    switch (this.random.below(7)) {
      case 0:
        return this.text(fuel)
      case 1:
        return this.number(fuel)
      case 2:
        return this.integer(fuel)
      case 3:
        return this.texts(fuel)
      case 4:
        return this.numbers(fuel)
      case 5: {
        const object = { text: `{ a: ${this.text(0).text} }`, value: () => ({}) }
        return { text: `keys(${object.text})`, value: () => ["a"] }
      }
      default:
        return this.boolean(fuel)
    }
  }
}

const shape: Known<string> = { text: '"yyyy-MM-dd HH:mm:ss"', value: () => "" }

function later(date: string, n: number): string {
  const time = new Date(timeOf(date) + n * 1000)
  if (time.getUTCFullYear() < 0) throw new NoValue()
  return time.toISOString()
}

/** JavaScript's own engine, which also finds an empty match right after another one. */
function withoutEmptyAfter(text: string, source: string, replace: (groups: readonly string[]) => string): string {
  let last = -1
  let kept = 0
  let made = ""
  for (const found of text.matchAll(new RegExp(source, "gu"))) {
    const end = found.index + found[0].length
    if (found[0] === "" && found.index === last) continue
    made += text.slice(kept, found.index) + replace(found)
    kept = last = end
  }
  return made + text.slice(kept)
}

type Values<K extends readonly Known<JsonValue>[]> = { [At in keyof K]: ReturnType<K[At]["value"]> }

function call<T extends JsonValue, K extends readonly Known<JsonValue>[]>(
  name: string,
  items: readonly [...K],
  apply: (...values: Values<K>) => T,
): Known<T> {
  const text = `${name}(${items.map((item) => item.text).join(", ")})`
  return { text, value: () => apply(...(items.map((item) => item.value()) as Values<K>)) }
}

function orZero(known: Known<number | null>): Known<number> {
  return { text: `(${known.text} ?? 0)`, value: () => known.value() ?? 0 }
}

function negated(known: Known<number>): Known<number> {
  return { text: `(-${known.text})`, value: () => 0 - known.value() }
}

function joined(list: readonly string[], separator: string): string {
  return list.reduce((all, one, at) => (at === 0 ? one : `${all}${separator}${one}`), "")
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new NoValue()
  return value === 0 ? 0 : value
}

function safe(value: number): number {
  if (!Number.isSafeInteger(value)) throw new NoValue()
  return value === 0 ? 0 : value
}

/** The number as it prints is N / 10^k: rounded as a fraction of two integers. */
function decimal(value: number, digits: number): string {
  if (digits > 15) throw new NoValue()
  const [mantissa = "", exponent = "0"] = String(Math.abs(value)).split("e")
  const [whole = "", fraction = ""] = mantissa.split(".")
  const scale = fraction.length - Number(exponent)
  const numerator = BigInt(whole + fraction) * 10n ** BigInt(digits + Math.max(0, -scale))
  const denominator = 10n ** BigInt(Math.max(0, scale))
  const rounded = (2n * numerator + denominator) / (2n * denominator)
  const [head, tail] = [rounded / 10n ** BigInt(digits), rounded % 10n ** BigInt(digits)]
  const sign = value < 0 && rounded > 0n ? "-" : ""
  return digits === 0 ? `${sign}${head}` : `${sign}${head}.${String(tail).padStart(digits, "0")}`
}

function numberIn(text: string): number | null {
  try {
    const value: unknown = JSON.parse(text.trim())
    return typeof value === "number" && Number.isFinite(value) ? value + 0 : null
  } catch {
    return null
  }
}

function timeOf(date: string): number {
  const time = Date.parse(date)
  if (Number.isNaN(time)) throw new NoValue()
  return time
}

/** Without the difference between 0 and -0, which JSON does not know. */
function plain(value: JsonValue): unknown {
  return JSON.parse(JSON.stringify(value))
}

test("random expressions have the value that a second evaluator finds, of the type that the checker says", () => {
  const count = atStrength(800, 100_000)
  let values = 0
  let limited = 0
  for (let seed = 0; seed < count; seed++) {
    const generator = new Generator(randomFrom(soakSeed * 1_000_003 + seed))
    const known = generator.any(4)
    const about = (): string => `SOAK_SEED=${soakSeed}, ${seed}: ${known.text} of ${JSON.stringify(generator.input)}`
    const found = evaluateText(known.text, header, generator.input)
    // A range of 100,000 elements leaves no work for much else.
    if (found.kind === "error" && found.error === "limit_exceeded" && known.text.includes("range(")) {
      limited++
      continue
    }
    let expected: JsonValue
    try {
      expected = known.value()
    } catch (error) {
      if (!(error instanceof NoValue)) throw error
      assert.ok(found.kind === "error" && found.error === "evaluation_error", `${about()}: ${JSON.stringify(found)}`)
      assert.match(found.message, /^Cannot evaluate /)
      continue
    }
    assert.ok(found.kind === "value", `${about()} should be ${JSON.stringify(expected)}: ${JSON.stringify(found)}`)
    assert.deepEqual(plain(found.value), plain(expected), about())
    const misfits = validateValue(found.value, found.type, {}, "value")
    assert.deepEqual(misfits, [], `${about()} is ${JSON.stringify(found.value)}, not ${showType(found.type)}`)
    values++
    if (seed % 5 > 0) continue
    const formatted = formatText(`output {\n    r: ${known.text}\n}\n`)
    assert.ok("formatted" in formatted, about())
    const body = formatted.formatted.slice("output {\n    r: ".length, -"\n}\n".length)
    const again = evaluateText(body, header, generator.input)
    assert.deepEqual(again, found, `${about()} is formatted as ${body}`)
  }
  assertOften(count - limited, count * 0.99, `of ${count} expressions take little enough work`)
  assertOften(values, count / 2, `of ${count} expressions have a value`)
})

const valueFunctions = functionNames.filter((name) => isValueFunction(name) && !isFileFunction(name))

test("a function of untyped values has a value of its type, or is an error that is documented", () => {
  const count = atStrength(800, 50_000)
  let values = 0
  for (let seed = 0; seed < count; seed++) {
    const random = randomFrom(soakSeed * 1_000_003 + seed)
    const name = random.pick(valueFunctions)
    const form = random.pick(functionRow(name).forms)
    const names = parametersOf(form).map((_, at) => `v${at}`)
    const input = { o: Object.fromEntries(names.map((one) => [one, randomValue(random)])) }
    const { takes } = functionRow(name)
    const items = names.map((one, at) => {
      const written = takes[at]?.written
      return written === undefined
        ? `input.o.${one}`
        : { field: '"a"', pattern: '"[a-z](.)"', timezone: '"UTC"' }[written]
    })
    const text = `${name}(${items.join(", ")})`
    const found = evaluateText(text, "input { o: object }", input)
    const about = `SOAK_SEED=${soakSeed}, ${seed}: ${text} of ${JSON.stringify(input)}`
    assert.notEqual(found.kind, "refused", about)
    if (found.kind === "error") assert.equal(found.error, "evaluation_error", `${about}: ${found.message}`)
    if (found.kind !== "value") continue
    values++
    const misfits = validateValue(found.value, found.type, {}, "value")
    assert.deepEqual(misfits, [], `${about} is ${JSON.stringify(found.value)}`)
  }
  assertOften(values, count / 20, `of ${count} calls have a value`)
})
