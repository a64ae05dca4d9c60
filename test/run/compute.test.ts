import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { array, integer, record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import type { Outcome } from "../support/run-plan.ts"
import { errorOf, resultOf, runPlan } from "../support/run-plan.ts"
import { answers, ScriptedModel } from "../support/scripted-model.ts"

// What workflows compute, from the text of an expression to its value.

const input = `input {
    n: integer
    x: number
    s: string
    list: [integer]
    m: maybe integer
    o: object
}
`

const given: JsonObject = { n: 7, x: 2.5, s: "text", list: [3, 1, 2], m: null, o: { n: 4, s: "a", zero: 0, b: true } }

async function run(expression: string, values: JsonObject = given): Promise<Outcome> {
  const { plan, diagnostics } = compile(`${input}output { value: ${expression} }`)
  if (plan === undefined) throw new Error(`${expression}: ${diagnostics.map(({ message }) => message).join("\n")}`)
  const model = new ScriptedModel((request) => answers({ text: "x" }, request))
  const outcome = await runPlan(plan, { model, tools: new InProcessTools({ tools: {} }), input: values })
  assert.deepEqual(outcome.bugs, [])
  return outcome
}

async function valueOf(expression: string, values?: JsonObject): Promise<JsonValue | undefined> {
  return (resultOf(await run(expression, values)) as JsonObject)["value"]
}

test("arithmetic follows its precedence and gives what JSON can write", async () => {
  const values: readonly (readonly [expression: string, value: JsonValue])[] = [
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["10 - 2 - 3", 5],
    ["2 * 7 % 4", 2],
    ["input.n / 2", 3.5],
    ["-input.n % 4", -3],
    ["7 % -4", 3],
    ["input.x % 1", 0.5],
    ["input.m ?? 0 + 1", 1],
    ["input.m ?? -input.n", -7],
    ["-input.m ?? 3", -3],
    ["- -input.n", 7],
    ["0 * -1", 0],
    ["-0", 0],
    ["-(input.n - 7)", 0],
    ["0.1 + 0.2", 0.1 + 0.2],
    ["input.n\n    - 1\n    + 2", 8],
    ["input.n-1", 6],
    ["input.n -1", 6],
    ["input.n-input.n", 0],
    ["input.n + 1 > input.n && !(input.n * 2 == input.n)", true],
    ["input.list contains 4 - 1", true],
    ["input.o.n * 2 + 1", 9],
    ['"{{ input.n + 1 }} and {{ -input.n }}"', "8 and -7"],
    ["[1 - 2, -1, 2 - -1]", [-1, -1, 3]],
    ['["{{ input.n -1 }}", upper("{{ input.n -1 }}")]', ["6", "6"]],
    ["9007199254740990 + 1", 9007199254740991],
    ["input.x * 9007199254740991", 2.5 * 9007199254740991],
  ]
  for (const [expression, value] of values) assert.deepEqual(await valueOf(expression), value, expression)
})

test("arithmetic that has no result is an evaluation error that names the expression", async () => {
  const mistakes: readonly (readonly [expression: string, message: RegExp])[] = [
    ["1 / (input.n - 7)", /^Cannot evaluate 1 \/ \(input\.n - 7\): division by zero$/],
    ["input.n % input.o.zero", /^Cannot evaluate input\.n % input\.o\.zero: division by zero$/],
    ["1e308 * 10.0", /^Cannot evaluate 1e308 \* 10\.0: the result is too large for a number$/],
    ["9007199254740991 + input.n", /^Cannot evaluate 9007199254740991 \+ input\.n: the result is not an exact integer/],
    ["input.o.s + 1", /^Cannot evaluate input\.o\.s \+ 1: \+ takes numbers, found a string$/],
    ["-input.o.s", /^Cannot evaluate -input\.o\.s: - takes a number, found a string$/],
  ]
  for (const [expression, message] of mistakes) {
    const error = errorOf(await run(expression))
    assert.equal(error.kind, "evaluation_error", expression)
    assert.match(error.message, message)
  }
})

test("lists from lists are filtered, sorted and made", async () => {
  const values: readonly (readonly [expression: string, value: JsonValue])[] = [
    ["[x * 2 for x in input.list]", [6, 2, 4]],
    ["[x for x in input.list when x > 1]", [3, 2]],
    ["[x for x in input.list by x]", [1, 2, 3]],
    ["[x for x in input.list by x descending]", [3, 2, 1]],
    ["[x for x in input.list by 0 descending]", [3, 1, 2]],
    ["[[x, y] for x in input.list when x > 2]".replace("y", "input.n"), [[3, 7]]],
    ["[[x - y for y in input.list when y < x] for x in input.list]", [[2, 1], [], [1]]],
    ["[input for input in input.list]", [3, 1, 2]],
    ["[[x for x in [x, x]] for x in input.list when x == 1]", [[1, 1]]],
    ['[a for { a } in [{ a: "x" }, { a: "y" }] by a descending]', ["y", "x"]],
    ['"{{ [x for x in input.list] }}"', "[3,1,2]"],
    ["[x for x in [] by x]", []],
    ["[read for read in input.list when read == 2][0]", 2],
    ["[x for x in [input.m, input.n] when x != null by x]", [7]],
  ]
  for (const [expression, value] of values) assert.deepEqual(await valueOf(expression), value, expression)
})

test("a list that cannot be made is an evaluation error that names the part", async () => {
  const mistakes: readonly (readonly [expression: string, message: RegExp])[] = [
    ["[x for x in input.o.n]", /^Cannot evaluate input\.o\.n: for needs an array, found a number$/],
    ["[x for x in [1] when input.o.n]", /^Cannot evaluate input\.o\.n: when takes a boolean, found a number$/],
    ["[x for x in [1] by input.o.b]", /^Cannot evaluate input\.o\.b: by takes a number or a string, found a boolean$/],
    ["[x for x in [input.o.n, input.o.s] by x]", /^Cannot evaluate x: by takes numbers or strings, found both$/],
    ["[a for { a } in [input.o]]", /^Cannot evaluate a: the element's field a is not there, found an object/],
  ]
  for (const [expression, message] of mistakes) {
    const error = errorOf(await run(expression))
    assert.equal(error.kind, "evaluation_error", expression)
    assert.match(error.message, message)
  }
})

test("functions give what the table says", async () => {
  const values: readonly (readonly [expression: string, value: JsonValue])[] = [
    ['length("a😀é")', 3],
    ["length(input.list)", 3],
    ['split("", ",")', [""]],
    ['split("", "")', []],
    ['split("a😀", "")', ["a", "😀"]],
    ['split(",a,", ",")', ["", "a", ""]],
    ['lines("a\\r\\nb\\rc\\n\\nd\\n")', ["a", "b", "c", "", "d"]],
    ['lines("")', []],
    ['lines("\\n")', [""]],
    ['join([1, "a", true], "-")', "1-a-true"],
    ['join([], "-")', ""],
    ['replace("a.b.c", ".", "$&")', "a$&b$&c"],
    ['replace("aaa", "aa", "b")', "ba"],
    ['slice("a😀bc", 1, 3)', "😀b"],
    ['slice("abc", -2)', "bc"],
    ['slice("abc", 2, 1)', ""],
    ["slice(input.list, -100, 100)", [3, 1, 2]],
    ["at(input.list, -1)", 2],
    ["at(input.list, 3)", null],
    ['at(input.o, "n")', 4],
    ['at(input.o, "toString")', null],
    ["text(null)", "null"],
    ['text("a")', "a"],
    ['json({ a: "b" })', '{"a":"b"}'],
    ['parse_json("{\\"a\\": [1]}").a[0]', 1],
    ['number(" -1.50e2\\n")', -150],
    ['number("1e999")', null],
    ['number("0x10")', null],
    ['number("")', null],
    ['number("-0")', 0],
    ["fixed(3.5, 2)", "3.50"],
    ["fixed(-0.001, 2)", "0.00"],
    ["fixed(1.005, 2)", "1.01"],
    ["fixed(1e21, 1)", "1000000000000000000000.0"],
    ["fixed(1.5e-7, 7)", "0.0000002"],
    ["round(2.5)", 3],
    ["round(-2.5)", -3],
    ["round(0.49999999999999994)", 0],
    ["round(-0.4)", 0],
    ["round(1.005, 2)", 1.01],
    ["ceil(-0.5)", 0],
    ["floor(-0.5)", -1],
    ["sum([])", 0],
    ["sum([9007199254740991, 9007199254740991, -9007199254740991])", 9007199254740991],
    ["min([])", null],
    ['max(["ｚ", "😀"])', "😀"],
    ["average([1, 2])", 1.5],
    ["average([])", null],
    ["first([])", null],
    [
      'unique([1, 1.0, "1", [1], [1.0], { a: 1, b: 2 }, { b: 2, a: 1 }, null, null])',
      [1, "1", [1], { a: 1, b: 2 }, null],
    ],
    ["flatten([[1], [], [2, 3]])", [1, 2, 3]],
    ["concat([1], [2], [3])", [1, 2, 3]],
    ["chunks([1, 2, 3], 2)", [[1, 2], [3]]],
    ['zip([1, 2, 3], ["a"])', [[1, "a"]]],
    ["range(3)", [0, 1, 2]],
    ["range(-1, 2)", [-1, 0, 1]],
    ["range(2, 1)", []],
    ["any([])", false],
    ["all([])", true],
    [
      "entries({ b: 1, a: null })",
      [
        { key: "b", value: 1 },
        { key: "a", value: null },
      ],
    ],
    ["merge({ a: 1, b: 2 }, { b: null, c: 3 })", { a: 1, b: null, c: 3 }],
    ['add_days("2024-02-28T23:59:60.5+02:00", 2)', "2024-03-01T23:59:60.5+02:00"],
    ['add_days("0001-01-01", -1)', "0000-12-31"],
    ['days_between("2026-01-01T23:30:00-01:00", "2026-01-02")', 0],
    ['days_between("2026-03-01", "2026-02-01")', -28],
    ['weekday("1969-12-31")', "wednesday"],
    ['weekday("2026-01-01T00:30:00+01:00")', "wednesday"],
    ["length(input.s) * 2 - length(input.list)", 5],
  ]
  for (const [expression, value] of values) assert.deepEqual(await valueOf(expression), value, expression)
})

test("a function that has no result is an evaluation error that names the expression", async () => {
  const mistakes: readonly (readonly [expression: string, message: RegExp])[] = [
    ['replace(input.s, "", "x")', /^Cannot evaluate replace\(input\.s, "", "x"\): the text to replace is empty$/],
    ['parse_json("{")', /: the text is not JSON$/],
    ['parse_json("{\\"__proto__\\":1}")', /: the text has a key `__proto__`, or a number that is too large$/],
    ['parse_json("1e400")', /: the text has a key `__proto__`, or a number that is too large$/],
    ["fixed(1, 16)", /: digits go from 0 to 15$/],
    ["round(1, -1)", /: digits go from 0 to 15$/],
    ["round(1e300)", /: the result is not an exact integer/],
    ["sum([9007199254740991, input.n])", /: the result is not an exact integer/],
    ["chunks(input.list, 0)", /: the size of a chunk is 1 at least$/],
    ["range(100001)", /: a range has at most 100000 elements$/],
    ['weekday("2026-02-29")', /: a date is YYYY-MM-DD, or a time as in RFC 3339, found other text$/],
    ['add_days("9999-12-31", 1)', /: the years of dates go from 0000 to 9999$/],
    ["length(input.o.n)", /: length takes a string, an array or a map, found a number$/],
    ["sum(input.o.s)", /: sum takes an array, found a string$/],
    ["slice(input.s, input.o.half)", /: an integer is needed, found a number with a fraction$/],
    ["max([input.o.n, input.o.s])", /: numbers and strings have no common order$/],
  ]
  for (const [expression, message] of mistakes) {
    const error = errorOf(await run(expression, { ...given, o: { n: 4, s: "a", half: 0.5 } }))
    assert.equal(error.kind, "evaluation_error", expression)
    assert.match(error.message, message)
  }
})

test("functions and lists make the bindings and the arguments of tools", async () => {
  const { plan, diagnostics } = compile(`${input}
mcp s { endpoint: "https://tools.test" }
tool find from mcp.s.tool.find { bindings { tag: upper(input.s) } }
dynamic {
    one: call tool.find { input { list: [x * 2 for x in input.list by x], text: join(input.list, "-") } }
    each: [call tool.find { input { list: range(x), text: text(x) } } for x in input.list when x > 1 by -x]
}
output { one: dynamic.one, each: dynamic.each }`)
  if (plan === undefined) throw new Error(diagnostics.map(({ message }) => message).join("\n"))
  const tools = new InProcessTools({
    tools: {
      find: {
        input: record({ tag: string, list: array(integer), text: string }),
        call: (given) => ({ text: JSON.stringify(given), is_error: false }),
      },
    },
  })
  const model = new ScriptedModel((request) => answers({ text: "x" }, request))
  const outcome = await runPlan(plan, { model, tools, input: given })
  const { one, each } = resultOf(outcome) as { one: unknown; each: unknown[] }
  assert.deepEqual(one, { tag: "TEXT", list: [2, 4, 6], text: "3-1-2" })
  assert.deepEqual(each, [
    { tag: "TEXT", list: [0, 1, 2], text: "3" },
    { tag: "TEXT", list: [0, 1], text: "2" },
  ])
})

test("parse_json of JSON that is more than a run reads at once is a limit, not a text that is no JSON", async () => {
  for (const [text, message] of [
    [`[${"1,".repeat(1_100_000)}1]`, /holds more values than can be read at once/],
    ["[".repeat(600) + "]".repeat(600), /is nested deeper than 500 levels/],
  ] as const) {
    const error = errorOf(await run("length(json(parse_json(input.s)))", { ...given, s: text }))
    assert.deepEqual([error.kind, message.test(error.message)], ["limit_exceeded", true], error.message)
  }
})
