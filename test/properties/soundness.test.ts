import assert from "node:assert/strict"
import { test } from "node:test"

import { fc } from "../support/fast-check.ts"
import { assertOften, cases } from "../support/strength.ts"

import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { caseRecord, maybe, nullable, resolve, union, withoutNull } from "../../src/types/relations.ts"
import { showType } from "../../src/types/show-type.ts"
import type { ArrayType, TupleType, Type, TypeTable } from "../../src/types/types.ts"
import { partsOf } from "../../src/types/type-parts.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import { compile } from "../../src/compile.ts"
import { functionNames, functionRow, isFileFunction, parametersOf } from "../../src/check/function-table.ts"
import type { Expression } from "../../src/plan/expression.ts"
import { evaluate } from "../../src/run/values/evaluate.ts"
import type { Scope } from "../../src/run/values/scope.ts"
import { EvaluationWork } from "../../src/run/values/evaluation-work.ts"
import { RunFailure } from "../../src/ports/run-failure.ts"
import { fieldsSource, nameSource, typeSource } from "../support/type-source.ts"
import type { Random } from "./arbitraries.ts"
import { arbitraryType, randomFrom, validValue } from "./arbitraries.ts"

// What the checker promises of an expression holds when it is evaluated: a value of the type that was inferred, and no
// failure but where a value is untyped, or a pluck may refuse one.

interface Typed {
  readonly text: string
  readonly type: Type
  readonly types: TypeTable
  readonly input: Type
  readonly expression: Expression
}

/** The expression in a workflow whose input is `x`; undefined when the checker refuses it. */
function typed(text: string, header: string): Typed | undefined {
  const { plan, program } = compile(`${header}\noutput { r: ${text} }`)
  const node = plan?.nodes.at(-1)
  const type = program.output?.type.fields[0]?.type
  const entry = node?.kind === "output" ? node.fields[0] : undefined
  const input = program.input?.type
  if (plan === undefined || type === undefined || entry === undefined || input === undefined) return undefined
  return { text, type, types: plan.types, input, expression: entry.value }
}

function headerOf(type: Type, types: TypeTable): string {
  const schemas = Object.entries(types).map(([name, { type: schema }]) => {
    const body = schema.kind === "record" ? fieldsSource(schema.fields) : `{ ${typeSource(schema)} }`
    return `schema ${name} ${body}`
  })
  // The same type as an answer: once, skipped by a condition, and in a loop.
  const answer = `question: "?" output { x: ${typeSource(type)} }`
  const asks = [
    `ask once { ${answer} }`,
    `ask skipped when input.yes { ${answer} }`,
    `ask each for item in input.xs when input.yes { ${answer} }`,
  ]
  return [...schemas, `input { x: ${typeSource(type)}, xs: [string], yes: boolean }`, ...asks].join("\n")
}

const roots = [
  "input.x",
  "input.x",
  "ask.once.x",
  "ask.once",
  "ask.skipped",
  "ask.skipped?.x",
  "ask.each",
  "ask.each.*.x",
]

/** A longer expression that might be right where `before` is. */
function longer(before: Typed, random: Random): string {
  switch (random.below(10)) {
    case 0:
      return applied(before, random)
    case 1:
    case 2:
    case 3:
    case 4:
      return decided(before, random)
    case 5:
    case 6:
      return listed(before, random)
    default:
      return read(before, random)
  }
}

/** A list of the elements, where the expression has some. */
function listed(before: Typed, random: Random): string {
  const { text, type, types } = before
  const inner = resolve(withoutNull(type, types), types)
  return inner.kind === "array" || inner.kind === "tuple" ? listOf(text, inner, types, random) : read(before, random)
}

/** Those that are worked out without a store of files. */
const functionsOfValues = functionNames.filter((name) => !isFileFunction(name))

/** A function of the expression, and of others that might be right beside it. */
function applied({ text }: Typed, random: Random): string {
  const name = random.pick(functionsOfValues)
  const others = [
    text,
    text,
    "1",
    "-1",
    '"a"',
    '", "',
    "[]",
    "[1, 0.5]",
    '{ a: 1, b: "x" }',
    "input.xs",
    '"2026-01-31"',
  ]
  const count = parametersOf(random.pick(functionRow(name).forms)).length
  const items = Array.from({ length: count }, (_, at) => (at === 0 ? text : random.pick(others)))
  return `${name}(${items.join(", ")})`
}

const literals = ["null", "1", "0.5", '""', '"a"', '"low"', "true", "[]", '["a"]', "{ }", "{ a: null }", "input.x"]

/** A comparison, a condition or a choice with the expression in it. */
function decided({ text, type, types, ...rest }: Typed, random: Random): string {
  const there: Typed = { ...rest, text, types, type: withoutNull(type, types) }
  const other = random.pick([...literals, text])
  const compared = `${text} ${random.pick(["==", "!=", "==", "<", ">=", "contains"])} ${other}`
  switch (random.below(16)) {
    case 7:
    case 8:
    case 9: {
      // Most of these guard nothing, and must not be let through then.
      const test = `${text} ${random.pick(["==", "!="])} null`
      const tests = [test, `!(${test})`, `(${test} || ${compared})`, `(true && ${test})`, `!(${test} && ${compared})`]
      return `(${random.pick(tests)} ${random.pick(["&&", "||"])} ${read(there, random)} == ${other})`
    }
    case 10:
    case 11: {
      const number = random.pick(["1", "-2", "0.5", text, `-${text}`])
      return `(${random.pick([text, `-${text}`])} ${random.pick(["+", "-", "*", "/", "%"])} ${number})`
    }
    case 0:
      return `(${compared})`
    case 1:
      return `(${other} contains ${text})`
    case 2:
      return `!(${text})`
    case 3:
      return `(${text} ${random.pick(["&&", "||"])} ${random.pick([text, "true", "false", compared])})`
    case 4:
      return `(${text} != null && ${read(there, random)} ${random.pick(["==", "!="])} ${other})`
    case 5:
      return `(${text} == null || !(${read(there, random)} == ${other}))`
    case 6:
      return `(!(${text} == null) && (${read(there, random)} != null && ${read(there, random)} != ${other}))`
    default:
      return chosen(there, random)
  }
}

/** A match on the expression, with what its branches know of it. */
function chosen({ text, type, types }: Typed, random: Random): string {
  const inner = resolve(type, types)
  const value = (): string => random.pick([text, "null", '"x"', "1"])
  switch (inner.kind) {
    case "boolean":
      return `match ${text} { true: ${value()}, false: ${value()}${random.pick(["", ", null: 1", ", _ null"])} }`
    case "enum":
    case "literal": {
      const names = inner.kind === "enum" ? inner.values : [inner.value]
      const branches = names.map((name) => `${JSON.stringify(name)}: ${value()}`)
      const some = branches.slice(0, 1 + random.below(branches.length))
      return `match ${text} { ${some.join(", ")}${random.pick(["", `, null: ${value()}`, `, _ ${value()}`])} }`
    }
    case "variant": {
      const branches = inner.cases.map((one) => {
        const field = random.pick(caseRecord(inner, one.name)?.fields ?? []).name
        const path = `${text}#${nameSource(one.name)}.${nameSource(field)}`
        return `${JSON.stringify(one.name)}: ${random.pick([path, text, value()])}`
      })
      return `match ${text} { ${branches.join(", ")}${random.pick(["", ", null: null", `, _ ${value()}`])} }`
    }
    default:
      return `match ${text} == ${random.pick(literals)} { true: ${value()}, false: ${text} }`
  }
}

function read({ text, type, types }: Typed, random: Random): string {
  const isNull = nullable(type, types)
  const inner = resolve(withoutNull(type, types), types)
  const dot = isNull && random.below(8) > 0 ? "?." : "."
  switch (random.below(12)) {
    case 0:
      return `(${text} ?? ${random.pick(['"none"', "1", "null", "[]", "{ }", "input.x"])})`
    case 1:
      return `"a {{ ${text} }} b"`
    case 2:
      return `[${text}, ${random.pick(["null", "1", '"a"', text])}]`
    case 3:
      return `{ a: ${text}, "b c": [${text}] }`
    case 4:
      return `(${text})`
    default:
  }
  switch (inner.kind) {
    case "record": {
      const [name] = inner.fields.length === 0 ? ["nothing"] : [random.pick(inner.fields).name]
      return `${text}${dot}${nameSource(name)}`
    }
    case "array":
    case "tuple":
      return element(text, dot, inner, types, random)
    case "variant": {
      const one = random.pick(inner.cases)
      const record = caseRecord(inner, one.name)
      const field = record === undefined ? inner.tag : random.pick(record.fields).name
      const access = `${nameSource(one.name)}.${nameSource(field)}`
      if (random.below(4) === 0) return `${text}${dot}${nameSource(inner.tag)}`
      if (random.below(2) === 0) return `${text}#${random.below(3) === 0 ? nameSource(one.name) : access}`
      return `match ${text} { ${access} _ ${random.pick(["null", '"x"', "1"])} }`
    }
    case "union": {
      const member = resolve(random.pick(inner.members), types)
      if (member.kind === "array" || member.kind === "tuple") return element(text, dot, member, types, random)
      return `${text}${dot}${nameSource(fieldIn(member, random))}`
    }
    default:
      return `${text}${dot}a`
  }
}

/** One element of an array, or a field of all of them. */
function element(text: string, dot: string, array: ArrayType | TupleType, types: TypeTable, random: Random): string {
  if (random.below(3) === 0) return listOf(text, array, types, random)
  if (random.below(2) === 0) return `${text}${dot === "?." ? "?." : ""}[${random.below(3)}]`
  const first = array.kind === "array" ? array.element : (array.elements[0] ?? array)
  const plain = resolve(withoutNull(first, types), types)
  const item = plain.kind === "union" ? resolve(random.pick(plain.members), types) : plain
  return `${text}${dot}${random.pick(["*", "**", "***"])}.${nameSource(fieldIn(item, random))}`
}

/** A list from the elements of an array, or from some fields of them. */
function listOf(text: string, array: ArrayType | TupleType, types: TypeTable, random: Random): string {
  const element = array.kind === "array" ? array.element : (array.elements[0] ?? array)
  const plain = resolve(withoutNull(element, types), types)
  const field = nameSource(fieldIn(plain, random))
  const isField = random.below(4) === 0 && !field.startsWith('"')
  const name = random.pick(["v", "input", "asset"])
  const value = isField ? name : random.pick([name, `${name}.${field}`, `${name}?.${field}`, `[${name}]`, "input"])
  const test = random.pick([`${name} != null`, `${name}.${field} != null`, "input.yes", `${name} == ${name}`])
  const when = random.pick(["", ` when ${test}`, ` when ${test}`])
  const by = random.pick(["", "", ` by ${name}`, ` by ${name}.${field} descending`])
  return `[${value} for ${isField ? `{ ${field}: ${name} }` : name} in ${text}${when}${by}]`
}

function fieldIn(type: Type, random: Random): string {
  if (type.kind === "variant") return type.tag
  return type.kind === "record" && type.fields.length > 0 ? random.pick(type.fields).name : "a"
}

/** Two types that can be read alike: records with a field in common, variants with the same tag, arrays of such. */
function unionOf(type: Type, types: TypeTable, random: Random): Type {
  const plain = resolve(type, types)
  const other: Type = random.pick<Type>([{ kind: "integer" }, { kind: "string" }, { kind: "null" }, plain])
  switch (plain.kind) {
    case "record":
      return union([plain, { kind: "record", fields: plain.fields.map(({ name }) => ({ name, type: other })) }])
    case "variant":
      return union([plain, { kind: "variant", tag: plain.tag, cases: [{ name: "other", fields: [] }] }])
    case "array":
      return union([plain, { kind: "array", element: unionOf(plain.element, types, random) }])
    default:
      return union([
        { kind: "array", element: plain },
        { kind: "tuple", elements: [plain, other] },
      ])
  }
}

test("an expression that is let through yields a value of its type", () => {
  let checked = 0
  let decisions = 0
  let guards = 0
  let answers = 0
  let lists = 0
  let functions = 0
  fc.assert(
    fc.property(arbitraryType, fc.integer(), ({ type, types }, seed) => {
      const random = randomFrom(seed)
      const shape = random.below(3) === 0 ? unionOf(type, types, random) : type
      const header = headerOf(random.below(2) === 0 ? shape : maybe(shape), types)
      const root = random.pick(roots)
      let current = typed(root, header)
      // A pluck from what may be skipped is refused for some types.
      if (current === undefined) assert.equal(root, "ask.each.*.x", header)
      current ??= typed("ask.each", header)
      assert.ok(current !== undefined, header)
      let isOpen = false
      for (let step = 0; step < 7; step++) {
        isOpen ||= holdsOpen(current.type, current.types)
        const next = typed(longer(current, random), header)
        if (next !== undefined) current = next
      }
      if (/ (?:==|!=|<|>=|contains|&&|\|\||[-+*/%]) |!\(/.test(current.text)) decisions++
      if (/\bask\./.test(current.text)) answers++
      if (/ for .* in /.test(current.text)) lists++
      if (/\b[a-z_]+\(/.test(current.text)) functions++
      if (/ != null && .* \|\| |!= null && .*[.#\]]/.test(current.text)) guards++
      const { input } = current
      for (let round = 0; round < 8; round++) {
        const value = validValue({ type: input, types: current.types }, random) as JsonObject
        if (holds(current, value, isOpen)) checked++
      }
    }),
    { numRuns: cases(2_000) },
  )
  assertOften(checked, 10_000, "values were looked at")
  assertOften(decisions, 300, "expressions have operators")
  assertOften(lists, 80, "expressions make lists")
  assertOften(functions, 30, "expressions have functions")
  assertOften(answers, 1_000, "expressions read an answer")
  assertOften(guards, 15, "expressions are guarded")
})

test("what the checker knows of a comparison before the run holds in every run", () => {
  let known = 0
  fc.assert(
    fc.property(arbitraryType, fc.integer(), ({ type, types }, seed) => {
      const random = randomFrom(seed)
      const header = headerOf(type, types)
      const start = typed("input.x", header)
      assert.ok(start !== undefined, header)
      const path = typed(read(start, random), header) ?? start
      for (let round = 0; round < 3; round++) {
        const text = `${path.text} ${random.pick(["==", "!="])} ${random.pick(literals)}`
        const { diagnostics } = compile(`${header}\noutput { r: ${text} }`)
        const said = diagnostics.map(({ message }) => /so this is always (true|false)$/.exec(message)?.[1])
        const always = said.find((one) => one !== undefined)
        // In a list, the condition may be what is known.
        const next = always === undefined || path.text.includes(" when ") ? undefined : typed(text, header)
        if (next === undefined) continue
        for (let value = 0; value < 8; value++) {
          const input = validValue({ type: next.input, types: next.types }, random) as JsonObject
          if (!holds(next, input, holdsOpen(next.input, next.types))) continue
          assert.equal(
            JSON.stringify(evaluate(next.expression, scopeOf(input))),
            always,
            `${text} of ${JSON.stringify(input)}`,
          )
          known++
        }
      }
    }),
    { numRuns: cases(1_000) },
  )
  assertOften(known, 100, "values were looked at")
})

/** Whether something inside of the type is known at run time only: a step from there may fail. */
function holdsOpen(type: Type, types: TypeTable): boolean {
  const seen = new Set<Type>([type])
  // Grows while it is walked.
  for (const part of seen) {
    if (part.kind === "any" || part.kind === "object") return true
    for (const inner of part.kind === "ref" ? [resolve(part, types)] : partsOf(part)) seen.add(inner)
  }
  return false
}

function holds(expression: Typed, input: JsonObject, isOpen: boolean): boolean {
  const { text, type, types } = expression
  const about = (): string => `${text} of ${JSON.stringify(input)} should be ${showType(type, 500)}`
  let value
  try {
    value = evaluate(expression.expression, scopeOf(input))
  } catch (error) {
    assert.ok(error instanceof RunFailure && error.error.kind === "evaluation_error", `${about()}: ${String(error)}`)
    assert.ok(
      isOpen ||
        /\.\*{3}\.|division by zero|exact integer|too large|is empty|not JSON|digits|chunk|range|date/.test(
          error.message,
        ),
      `${about()}: ${error.message}`,
    )
    return false
  }
  const misfits = validateValue(value, type, types, "value").map(({ message }) => message)
  assert.deepEqual(misfits, [], `${about()}, and is ${JSON.stringify(value)}`)
  return true
}

/** What people answer: values of the input's type, some of them skipped where a condition lets them be. */
function answersTo(input: JsonObject): ReadonlyMap<string, JsonValue> {
  const answer = { x: input["x"] ?? null }
  const skipped = input["yes"] === true ? answer : null
  const items = Array.isArray(input["xs"]) ? input["xs"] : []
  return new Map<string, JsonValue>([
    ["once", answer],
    ["skipped", skipped],
    ["each", items.map((_, index) => (index % 2 === 0 ? skipped : answer))],
  ])
}

function scopeOf(input: JsonObject): Scope {
  const none = new Map<string, never>()
  return {
    input,
    secrets: {},
    agents: none,
    rounds: new Map(),
    answers: answersTo(input),
    waited: new Map(),
    dynamics: none,
    failures: new Map(),
    locals: none,
    variables: none,
    items: new Map(),
    positions: [],
    matched: null,
    run: { id: "run", started_at: "2026-01-01T00:00:00.000Z", date: "2026-01-01" },
    path: "output",
    iteration: null,
    work: new EvaluationWork(),
  }
}
