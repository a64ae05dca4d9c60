import assert from "node:assert/strict"
import { describe, it } from "node:test"
import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import { errorOf, startService } from "./start-service.ts"

// What docs/language.md says of arithmetic, functions, lists and requirements, sentence by sentence, as a client sees it.

const input = `input {
    n: integer
    x: number
    s: string
    b: boolean
    m: maybe integer
    ms: [maybe integer]
    list: [integer]
    pair: (integer, string)
    u: integer | string
    o: object
    rec: { a: integer, b: maybe string }
}
secrets { key: string }
`
const given: JsonObject = {
  n: 7,
  x: 2.5,
  s: "b a",
  b: true,
  m: null,
  ms: [1, null, 3],
  list: [3, 1, 2],
  pair: [1, "one"],
  u: "u",
  o: { n: 4, s: "a", none: null, list: [1, "x"] },
  rec: { a: 1, b: null },
}

/** An expression and its value. */
type Value = readonly [expression: string, value: JsonValue]
/** An expression, or the whole text after the input, and the code of its only issue, with words of its message or hint. */
type Wrong = readonly [text: string, code: string, words?: string]
/** An expression and the kind of the error at run time, with words of it. */
type Fails = readonly [expression: string, kind: string, words: string]
/** An expression and the schema of its type. */
type Typed = readonly [expression: string, schema: JsonObject]

const integers = { type: "array", items: { type: "integer" } }
const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

const values: Readonly<Record<string, readonly Value[]>> = {
  "maps and spread": [
    ["{ [text(n)]: n * 2 for n in input.list when n > 2 }", { "3": 6 }],
    ['{ [input.s]: 1, ["c"]: 2, [input.s]: 3 }', { "b a": 3, c: 2 }],
    ['keys({ [k]: 1 for k in ["b", "a", "b"] })', ["b", "a"]],
    ['at({ [input.s]: 1 }, "b a")', 1],
    ['at({ [input.s]: 1 }, "no")', null],
    ['"b a" in ({ [input.s]: 1 }) && !("no" in ({ [input.s]: 1 }))', true],
    ['length({ [k]: 1 for k in split(input.s, " ") })', 2],
    ["[e.key for e in entries({ [input.s]: 1 })]", ["b a"]],
    ["{ ...input.rec, a: 2 }", { a: 2, b: null }],
    ["{ a: 2, ...input.rec }", { a: 1, b: null }],
    ["{ ...input.rec }", { a: 1, b: null }],
    ["[...input.list, 4, ...[5]]", [3, 1, 2, 4, 5]],
    ["[...input.list]", [3, 1, 2]],
  ],
  "operators from weakest to strongest": [
    ["true || false && false", true],
    ['input.s < "b b" && "Z" < "a" && "\\u{FFFD}" < "\\u{1F600}"', true],
    ["input.s >= input.s && !(input.s > input.s)", true],
    ['2 in input.list && !("c" in split(input.s, " "))', true],
    ['"none" in input.o && !("no" in input.o)', true],
    [
      "[[i, n] for n, i in input.list when n > 1 by n]",
      [
        [2, 2],
        [0, 3],
      ],
    ],
    ["[i for { a }, i in [input.rec, input.rec] by a + i descending]", [1, 0]],
    ['input.o.no.such ?? "none"', "none"],
    ['(input.o.none.such) ?? "none"', "none"],
    ["input.o?.no?.such", null],
    ['parse_json("{}").a.b ?? 1', 1],
    ["false && input.n > 3 || true", true],
    ["1 + 1 < 3", true],
    ["2 + 3 * 4 % 5 - 1", 3],
    ["!input.b || input.b", true],
    ["-input.n + 10", 3],
    ["input.m ?? 0 + 1", 1],
    ["input.m ?? 2 * 3", 6],
    ["-input.rec.a", -1],
    ["8 / 4 / 2", 1],
    ["input.m ?? -input.n", -7],
  ],
  "numbers print as JSON does": [
    ["text(1e21)", "1e+21"],
    ["text(0.1 + 0.2)", "0.30000000000000004"],
    ["json([-0, 0 * -1, 1.0])", "[0,0,1]"],
    ["-7 % 4", -3],
    ["7.5 % -2", 1.5],
  ],
  "names of functions are not reserved": [
    ["[length for length in input.list]", [3, 1, 2]],
    ["[length(round) for round in [input.s]]", [3]],
    ["{ length: 1, sum: 2 }.length", 1],
    ["sum([1, 2,],)", 3],
    ['input.s contains("a")', true],
    ["match(input.b) { true: 1  false: 2 }", 1],
  ],
  texts: [
    ['upper("straße")', "STRASSE"],
    ['lower("ÀI")', "ài"],
    ['trim("\\t a\\n")', "a"],
    ['starts_with("abc", "ab")', true],
    ['ends_with("abc", "")', true],
    ['replace("a-b", "-", "")', "ab"],
    ["slice(input.list, 1)", [1, 2]],
    ["slice(input.list, -2, -1)", [1]],
    ['text({ a: [1, "x"] })', '{"a":[1,"x"]}'],
    ["json(null)", "null"],
    ["join(input.list, input.s)", "3b a1b a2"],
  ],
  numbers: [
    ["abs(-2.5)", 2.5],
    ["round(-1.5)", -2],
    ["floor(-1.5)", -2],
    ["ceil(-1.5)", -1],
    ["round(2.675, 2)", 2.68],
    ["fixed(2.675, 2)", "2.68"],
    ["fixed(-0.004, 2)", "0.00"],
    ['number("12.50")', 12.5],
    ['number("12,5")', null],
    ["sum([0.5, 0.5])", 1],
    ['min(["b", "a"])', "a"],
    ["max(input.list) ?? 0", 3],
    ["average(input.list)", 2],
  ],
  arrays: [
    ["first(input.pair)", 1],
    ["last(input.pair)", "one"],
    ["reverse(input.list)", [2, 1, 3]],
    ["unique([1, 2, 1])", [1, 2]],
    ["concat(input.list, [input.s])", [3, 1, 2, "b a"]],
    ["range(input.n, input.n + 2)", [7, 8]],
    ["at(input.list, -3)", 3],
    [
      'zip(range(2), ["a", "b", "c"])',
      [
        [0, "a"],
        [1, "b"],
      ],
    ],
    ["any([x > 2 for x in input.list])", true],
    ["all([x > 2 for x in input.list])", false],
  ],
  objects: [
    ["keys(input.o)", ["n", "s", "none", "list"]],
    ["values(input.rec)", [1, null]],
    [
      "entries(input.rec)",
      [
        { key: "a", value: 1 },
        { key: "b", value: null },
      ],
    ],
    ["merge(input.rec, { a: input.s })", { a: "b a", b: null }],
  ],
  dates: [
    ['add_days("2024-02-29", 365)', "2025-02-28"],
    ['add_days("2026-01-31T10:00:00.5+02:00", 1)', "2026-02-01T10:00:00.5+02:00"],
    ['days_between("2026-01-01", "2026-03-01")', 59],
    ['weekday("2026-11-17")', "tuesday"],
  ],
  "lists from lists": [
    ["[x for x in input.list when x > 1 by x descending]", [3, 2]],
    ["[{ x: x } for x in input.list by -x]", [{ x: 3 }, { x: 2 }, { x: 1 }]],
    ["[b for { a, b: b } in [{ a: 2, b: 1 }, { a: 1, b: 2 }] by a]", [2, 1]],
    ["[x for x in [1, 2, 3, 4] by x % 2 descending]", [1, 3, 2, 4]],
    ["[x + 1 for x in input.ms when x != null by x]", [2, 4]],
    ["[asset for asset in input.list]", [3, 1, 2]],
    ["[true for x in input.list]", [true, true, true]],
    ["[null for x in [1]]", [null]],
    ['[w for w in ["ｚ", "😀", "a"] by w]', ["a", "ｚ", "😀"]],
    ["flatten([[x, x] for x in [1, 2]])", [1, 1, 2, 2]],
  ],
}

const typed: readonly Typed[] = [
  ["input.n + 1", { type: "integer" }],
  ["input.n + 1.5", { type: "number" }],
  ["input.n / 1", { type: "number" }],
  ["input.n % 2", { type: "integer" }],
  ["-input.x", { type: "number" }],
  ["input.o.n + 1", { type: "number" }],
  ["abs(input.n)", { type: "integer" }],
  ["round(input.x)", { type: "integer" }],
  ["round(input.x, 1)", { type: "number" }],
  ["sum(input.list)", { type: "integer" }],
  ["max([1, 2])", { type: "integer" }],
  ["first([1])", { type: "integer" }],
  ["first(input.pair)", { type: "integer" }],
  ["range(2)", integers],
  ["[x for x in input.list]", integers],
  ["chunks(input.list, 2)", { type: "array", items: integers }],
  ['weekday("2026-01-01")', { type: "string", enum: weekdays }],
  ["length(input.s)", { type: "integer" }],
  ["keys(input.rec)", { type: "array", items: { type: "string" } }],
]

const wrong: Readonly<Record<string, readonly Wrong[]>> = {
  "one mistake is one message": [
    ["!input.n == 1", "type-mismatch"],
    ['input.s - "x" + 1', "type-mismatch"],
    ["input.s * input.list", "type-mismatch"],
  ],
  arithmetic: [
    ["input.m + 1", "nullable-access", "input.m"],
    ["1 / 0", "division-by-zero"],
    ["1 % 0", "division-by-zero"],
    ["secrets.key + 1", "secret-exposed"],
    ["length(secrets.key)", "secret-exposed"],
    ["[x for x in [secrets.key]]", "secret-exposed"],
    ['length(asset "http://a.test/x.png" { type: "image" })', "type-mismatch"],
    ["abs(input.n -1)", "syntax-error", "a - b"],
    ["[input.n -input.n]", "syntax-error", "a - b"],
  ],
  functions: [
    ["len(input.s)", "unknown-function", "length"],
    ["size(input.list)", "unknown-function", "length"],
    ["count(input.list)", "unknown-function", "length"],
    ["toLowerCase(input.s)", "unknown-function", "lower"],
    ["str(input.n)", "unknown-function", "text"],
    ["JSON.stringify(input.o)", "unknown-function", "json"],
    ["parseInt(input.s)", "unknown-function", "number"],
    ["avg(input.list)", "unknown-function", "average"],
    ["push(input.list, 1)", "unknown-function", "concat"],
    ["substring(input.s, 1)", "unknown-function", "slice"],
    ["toFixed(input.x, 1)", "unknown-function", "fixed"],
    ["now()", "unknown-function", "run.started_at"],
    ["contains(input.s, input.s)", "unknown-function", "input.s contains input.s"],
    ["includes(input.s, input.s)", "unknown-function", "contains"],
    ["lenght(input.s)", "unknown-function", "length"],
    ["input.s.trim()", "unknown-function", "trim(input.s)"],
    ["abs()", "wrong-arguments", "abs("],
    ["abs(1, 2)", "wrong-arguments", "abs("],
    ["concat([1])", "wrong-arguments", "concat("],
    ["upper(input.n)", "type-mismatch"],
    ["upper(input.rec.b)", "nullable-access"],
    ["sum(input.ms)", "nullable-access", "when x != null"],
    ["length(input.u)", "type-mismatch"],
    ["flatten(input.list)", "type-mismatch"],
    ["merge(input.o, input.rec)", "type-mismatch"],
    ["any(input.list)", "type-mismatch"],
  ],
  lists: [
    ["[x for x in x]", "unknown-reference"],
    ["[x for x in input.ms by x]", "nullable-access"],
    ["[x for x in input.list by [x]]", "type-mismatch"],
    ["[x for x in input.list when x]", "type-mismatch"],
    ["[x for x in input.s]", "not-iterable"],
    ["[y for x in input.list for y in [x]]", "syntax-error", "flatten"],
  ],
}

const fails: readonly Fails[] = [
  ["1 / (input.n - 7)", "evaluation_error", "1 / (input.n - 7)"],
  ["input.n * 9007199254740991", "evaluation_error", "input.n * 9007199254740991"],
  ["1e308 * 10.0", "evaluation_error", "1e308 * 10.0"],
  ["input.o.s * 2", "evaluation_error", "input.o.s * 2"],
  ['replace(input.s, "", "x")', "evaluation_error", "replace"],
  ["parse_json(input.s)", "evaluation_error", "parse_json"],
  ["fixed(1, 16)", "evaluation_error", "0 to 15"],
  ["chunks(input.list, 0)", "evaluation_error", "chunks"],
  ["range(0, 100001)", "evaluation_error", "range"],
  ["weekday(input.s)", "evaluation_error", "weekday"],
  ["round(1e300)", "evaluation_error", "round"],
  ["sum(input.o.list)", "evaluation_error", "sum"],
  ["length(join([join(range(100000), input.s) for x in range(100)], input.s))", "limit_exceeded", "output.x"],
]

/** What takes no computed values, or none of these. */
const blocks: Readonly<Record<string, readonly Wrong[]>> = {
  "what is written out stays written out": [
    ["limits { tokens: 1 + 1 }\noutput { x: 1 }", "*"],
    [
      'provider p from openai { endpoint: "demo" }\nmodel m from p { id: "demo" inference { max_tokens: 1 + 1 } }\noutput { x: 1 }',
      "*",
    ],
  ],
  requirements: [
    ['ask q { question: "?" output { a: boolean } require input.b }\noutput { x: ask.q.a }', "constant-requirement"],
    [
      'mcp s { endpoint: "http://t.test" }\ntool t from mcp.s.tool.t\nask q { question: "?" output { a: boolean } require (call tool.t) == null && result.a }\noutput { x: ask.q.a }',
      "call-in-condition",
    ],
    ['ask q { question: "?" output { a: boolean } require result.c }\noutput { x: ask.q.a }', "unknown-reference"],
    ['ask q { question: "?" output { a: integer } require result.a }\noutput { x: ask.q.a }', "type-mismatch"],
  ],
  "calls in lists": [
    [
      'mcp s { endpoint: "http://t.test" }\ntool t from mcp.s.tool.t\noutput { x: [n for n in input.list when (call tool.t) != null] }',
      "call-in-condition",
    ],
    [
      'mcp s { endpoint: "http://t.test" }\ntool t from mcp.s.tool.t\noutput { x: [n for n in input.list by call tool.t] }',
      "*",
    ],
  ],
}

interface Validated {
  readonly issues: readonly {
    readonly code: string
    readonly message: string
    readonly hint?: string
    readonly severity: string
  }[]
  readonly schemas?: { readonly output?: { readonly properties: { readonly x: unknown } } }
}

describe("what the language says of computed values, over HTTP", async () => {
  const service = await startService()
  const sourceOf = (expression: string): string => `${input}output {\n    x: ${expression}\n}\n`
  const secrets = { key: "k-1234567890" }

  async function validated(workflow_source: string): Promise<Validated> {
    return (await (await service.post("/validate", { workflow_source })).json()) as Validated
  }

  for (const [sentence, rows] of Object.entries(values)) {
    it(`values: ${sentence}`, async () => {
      // One run for all rows.
      const fields = rows.map(([expression], at) => `    x${at}: ${expression}`).join("\n")
      const response = await service.post("/execute", {
        workflow_source: `${input}output {\n${fields}\n}\n`,
        input: given,
        secrets,
      })
      const output = (await response.json()) as JsonObject
      assert.equal(response.status, 200, JSON.stringify(output))
      for (const [at, [expression, value]] of rows.entries()) assert.deepEqual(output[`x${at}`], value, expression)
    })
  }

  it("keys that look like integers keep their place, in inputs, maps, texts, stored runs and answers", async () => {
    const source = `input { m: map (maybe { a: integer, b: maybe string })  o: object }
output {
    keys: keys(input.m)
    values: [at(input.m, key)?.a for key in keys(input.m)]
    m: input.m
    o: input.o
    text: "{{ input.o }}"
    made: { [text(n)]: { [text(n + 1)]: n, ["a"]: 1, ["0"]: 2 } for n in [7, 10, 2, 7] }
    parsed: parse_json("{\\"b\\": 1, \\"10\\": 2, \\"2\\": 3}")
    spread: { b: 1, "10": 2, ...{ "2": 3 } }
}
`
    const body = `{"workflow_source":${JSON.stringify(source)},"input":{"m":{"10":{"a":1},"b":null,"2":{"a":3}},"o":{"z":{"5":1,"3":[]},"1":2}}}`
    const expected =
      '{"keys":["10","b","2"],"values":[1,null,3],"m":{"10":{"a":1,"b":null},"b":null,"2":{"a":3,"b":null}},' +
      '"o":{"z":{"5":1,"3":[]},"1":2},"text":"{\\"z\\":{\\"5\\":1,\\"3\\":[]},\\"1\\":2}",' +
      '"made":{"7":{"8":7,"a":1,"0":2},"10":{"11":10,"a":1,"0":2},"2":{"3":2,"a":1,"0":2}},' +
      '"parsed":{"b":1,"10":2,"2":3},"spread":{"b":1,"10":2,"2":3}}'
    const response = await service.post("/execute", body)
    assert.equal(await response.text(), expected)
    const run = await service.get(`/execute/${response.headers.get("x-service-run-id") ?? ""}`)
    const stored = await run.text()
    assert.ok(stored.includes(`"output":${expected}`), stored)
    assert.ok(stored.includes('"m":{"10":{"a":1,"b":null},"b":null,"2":{"a":3,"b":null}}'), stored)
  })

  it("types of results", async () => {
    for (const [expression, schema] of typed) {
      const { schemas, issues } = await validated(sourceOf(expression))
      assert.deepEqual(schemas?.output?.properties.x, schema, `${expression} ${JSON.stringify(issues)}`)
    }
  })

  for (const [sentence, rows] of [...Object.entries(wrong), ...Object.entries(blocks)]) {
    it(`mistakes: ${sentence}`, async () => {
      for (const [text, code, words = ""] of rows) {
        const source = /\boutput \{/.test(text) ? input + text : sourceOf(text)
        const issues = (await validated(source)).issues.filter((issue) => issue.code !== "unused-declaration")
        const found = issues.map((issue) => issue.code)
        if (code === "*") assert.ok(found.length > 0, `${text}: no issue`)
        else assert.deepEqual(found, [code], `${text}: ${JSON.stringify(issues)}`)
        const said = issues.map(({ message, hint = "" }) => `${message} ${hint}`).join(" ")
        assert.ok(said.includes(words), `${text}: ${said}`)
      }
    })
  }

  it("errors at run time", async () => {
    for (const [expression, kind, words] of fails) {
      const error = await errorOf(
        await service.post("/execute", { workflow_source: sourceOf(expression), input: given, secrets }),
      )
      assert.equal(error.kind, kind, `${expression}: ${error.message}`)
      assert.ok(error.message.includes(words), `${expression}: ${error.message}`)
    }
  })
})
