import assert from "node:assert/strict"
import { describe, test } from "node:test"

import {
  any,
  array,
  boolean,
  either,
  integer,
  literal,
  maybe,
  nothing,
  number,
  object,
  oneOf,
  record,
  ref,
  string,
  table,
  tuple,
  variant,
} from "../../test/support/build-types.ts"
import type { Type, TypeTable } from "./types.ts"
import { validateValue } from "./validate-value.ts"
import type { ValidateOptions } from "./validate-value.ts"
import { assertCpuBelow } from "../../test/support/cpu-time.ts"
import { soakTest } from "../../test/support/strength.ts"

const types: TypeTable = table({
  tree: record({ value: string, children: array(ref("tree")) }),
  chain: record({ next: maybe(ref("chain")) }),
  advice: variant("kind", { rewrite: { patch: string }, question: { text: string } }),
  a: record({ next: either(ref("a"), ref("b"), nothing), x: string }),
  b: record({ next: either(ref("a"), ref("b"), nothing), y: string }),
})

const messages = (value: unknown, type: Type, options?: ValidateOptions): string[] => {
  return validateValue(value, type, types, "input", options).map(({ message, hint }) => {
    return hint === undefined ? message : `${message} (${hint})`
  })
}

const parsed = (json: string): unknown => JSON.parse(json)

const severity = oneOf("low", "medium", "high")
const files = record({ files: array(record({ path: string, patch: string })) })

const rows: readonly [string, Type, unknown, string[]][] = [
  ["a string", string, "x", []],
  ["a number for a string", string, 12, ["input: expected string, found number 12"]],
  ["null for a string", string, null, ["input: expected string, found null"]],
  ["a truth value for a number", number, true, ["input: expected number, found boolean true"]],
  ["an array for a string", string, [1, 2], ["input: expected string, found array of 2"]],
  ["an object for a string", string, {}, ["input: expected string, found object"]],
  ["a whole number written with a point", integer, parsed("1.0"), []],
  ["minus zero", integer, -0, []],
  ["a fraction for a whole number", integer, 1.5, ["input: expected integer, found number 1.5"]],
  [
    "a whole number beyond the safe ones",
    integer,
    parsed("9007199254740993"),
    ["input: expected integer, found number 9007199254740992, which is beyond 9007199254740991"],
  ],
  ["the largest safe one", integer, 9007199254740991, []],
  ["1e400", number, parsed("1e400"), ["input: expected number, found a number too large to hold"]],
  ["1e400 for a whole number", integer, parsed("1e400"), ["input: expected integer, found a number too large to hold"]],
  [
    "1e400 somewhere in any value",
    any,
    parsed('{"a":[1e400]}'),
    ["input.a[0]: expected a JSON value, found a number too large to hold"],
  ],
  ["a literal", literal("yes"), "no", ['input: expected "yes", found string "no"']],
  ["an enum", severity, "urgent", ['input: expected one of "low", "medium", "high", found string "urgent"']],
  [
    "an enum, nearly",
    severity,
    "hihg",
    ['input: expected one of "low", "medium", "high", found string "hihg" (Did you mean "high"?)'],
  ],
  [
    "an enum of many",
    oneOf(...Array.from("abcdefghijkl")),
    "z!",
    ['input: expected one of "a", "b", "c", "d", "e", "f", "g", "h" and 4 more, found string "z!"'],
  ],
  [
    "a long string",
    integer,
    "x".repeat(1000),
    [`input: expected integer, found string "${"x".repeat(39)}…" of 1000 characters`],
  ],

  ["a missing field", files, {}, ["input.files is missing: expected [{ path: string, patch: string }]"]],
  [
    "a missing field that may be null",
    record({ a: maybe(string) }),
    {},
    ["input.a is missing: expected string or null"],
  ],
  [
    "a field of another name",
    record({ title: string, files: array(string) }),
    { titel: "x", files: [] },
    [
      "input.title is missing: expected string",
      "input.titel is not a field here: expected the fields title, files (Did you mean title?)",
    ],
  ],
  [
    "a field too many",
    record({ a: string }),
    { a: "", zzz: { secret: 1 } },
    ["input.zzz is not a field here: expected the fields a"],
  ],
  ["a field where there are none", record({}), { a: 1 }, ["input.a is not a field here: expected no fields"]],
  [
    "several at once, in order",
    files,
    { files: [{ path: "a", patch: "b" }, { path: 1 }, "x"], more: 1 },
    [
      "input.files[1].path: expected string, found number 1",
      "input.files[1].patch is missing: expected string",
      'input.files[2]: expected { path: string, patch: string }, found string "x"',
      "input.more is not a field here: expected the fields files",
    ],
  ],
  [
    "a key that is no name",
    record({ "X-Trace": string }),
    { "X-Trace": 1 },
    ['input["X-Trace"]: expected string, found number 1'],
  ],
  ["an inherited name is no field", record({ toString: string }), {}, ["input.toString is missing: expected string"]],
  ["an array for an object", record({ a: string }), [], ["input: expected { a: string }, found array of 0"]],
  ["an object for an array", array(string), {}, ["input: expected [string], found object"]],
  ["undefined is nothing", any, undefined, ["input is missing: expected a JSON value"]],

  [
    "__proto__ as a key",
    record({ a: string }),
    parsed('{"a":"","__proto__":{}}'),
    ["input.__proto__ is not allowed: no field may have this name"],
  ],
  [
    "__proto__ in an open object",
    object,
    parsed('{"a":{"__proto__":1}}'),
    ["input.a.__proto__ is not allowed: no field may have this name"],
  ],
  [
    "__proto__ in any value",
    any,
    parsed('[{"__proto__":1}]'),
    ["input[0].__proto__ is not allowed: no field may have this name"],
  ],
  [
    "__proto__ even if the type has it",
    { kind: "record", fields: [{ name: "__proto__", type: string }] },
    parsed('{"__proto__":"x"}'),
    ["input.__proto__ is not allowed: no field may have this name"],
  ],
  ["any object", object, { a: [1, null, { b: "c" }] }, []],
  ["no object", object, [], ["input: expected object, found array of 0"]],

  ["three elements", array(string, 3), ["a", "b", "c"], []],
  ["too few", array(string, 3), ["a"], ["input: expected 3 elements, found 1"]],
  [
    "too many and wrong",
    array(string, 1),
    ["a", 1],
    ["input: expected 1 element, found 2", "input[1]: expected string, found number 1"],
  ],
  ["a tuple", tuple(string, integer), ["a", 1], []],
  [
    "a tuple, swapped",
    tuple(string, integer),
    [1, "a"],
    ["input[0]: expected string, found number 1", 'input[1]: expected integer, found string "a"'],
  ],
  ["a tuple, too short", tuple(string, integer), ["a"], ["input: expected 2 elements, found 1"]],
  ["no tuple", tuple(string, integer), {}, ["input: expected (string, integer), found object"]],

  ["null for maybe", maybe(string), null, []],
  ["neither string nor null", maybe(string), 1, ["input: expected string or null, found number 1"]],
  [
    "none of several",
    either(string, integer, nothing),
    true,
    ["input: expected string, integer or null, found boolean true"],
  ],
  [
    "literals and enums of a union are listed together",
    either(literal("auto"), oneOf("low", "high"), integer, nothing),
    "atuo",
    ['input: expected one of "auto", "low", "high", integer or null, found string "atuo" (Did you mean "auto"?)'],
  ],
  ["inside maybe", maybe(record({ a: string })), { a: 1 }, ["input.a: expected string, found number 1"]],
  [
    "the nearest record of a union",
    either(record({ a: string, b: string }), record({ c: string, d: string })),
    { c: "x", d: 1 },
    ["input.d: expected string, found number 1"],
  ],
  [
    "the record whose literal agrees, though another has more fields in common",
    either(
      record({ type: literal("circle"), radius: number }),
      record({ type: literal("square"), x: number, y: number, side: number }),
    ),
    { type: "circle", x: 1, y: 2 },
    [
      "input.radius is missing: expected number",
      "input.x is not a field here: expected the fields type, radius",
      "input.y is not a field here: expected the fields type, radius",
    ],
  ],
  [
    "the nearest array",
    either(array(string), array(integer)),
    [1, 2, "x"],
    ['input[2]: expected integer, found string "x"'],
  ],
  [
    "an array, an object and neither",
    either(array(string), record({ a: string })),
    "x",
    ['input: expected [string] or { a: string }, found string "x"'],
  ],

  ["a case", ref("advice"), { kind: "question", text: "?" }, []],
  [
    "a case with another's field",
    ref("advice"),
    { kind: "question", patch: "?" },
    ["input.text is missing: expected string", "input.patch is not a field here: expected the fields kind, text"],
  ],
  [
    "an unknown case",
    ref("advice"),
    { kind: "rewrit", patch: 1 },
    ['input.kind: expected one of "rewrite", "question", found string "rewrit" (Did you mean "rewrite"?)'],
  ],
  [
    "an inherited case",
    ref("advice"),
    { kind: "toString" },
    ['input.kind: expected one of "rewrite", "question", found string "toString"'],
  ],
  ["no tag", ref("advice"), { patch: "" }, ['input.kind is missing: expected one of "rewrite", "question"']],
  [
    "a tag that is no string",
    ref("advice"),
    { kind: 1 },
    ['input.kind: expected one of "rewrite", "question", found number 1'],
  ],
  [
    "no object for a variant",
    ref("advice"),
    "rewrite",
    ['input: expected variant kind { rewrite { patch: string }, question { text: string } }, found string "rewrite"'],
  ],

  ["a tree", ref("tree"), { value: "", children: [{ value: "", children: [] }] }, []],
  [
    "deep in a tree",
    ref("tree"),
    { value: "", children: [{ value: "", children: [{ value: 1, children: [] }] }] },
    ["input.children[0].children[0].value: expected string, found number 1"],
  ],
]

describe("validateValue", () => {
  for (const [name, type, value, expected] of rows) test(name, () => assert.deepEqual(messages(value, type), expected))

  test("each misfit has its parts apart", () => {
    assert.deepEqual(validateValue({ a: 1 }, record({ a: string, b: boolean }), {}, "agent.x.output"), [
      {
        path: "agent.x.output.a",
        message: "agent.x.output.a: expected string, found number 1",
        expected: "string",
        found: "number 1",
      },
      {
        path: "agent.x.output.b",
        message: "agent.x.output.b is missing: expected boolean",
        expected: "boolean",
        found: "nothing",
      },
    ])
  })

  test("hidden values are nowhere in the texts", () => {
    const type = record({
      token: integer,
      kind: oneOf("aaa", "bbb"),
      flag: string,
      list: array(string, 1),
      either: maybe(integer),
    })
    const secret = {
      token: "sk-live-123",
      kind: "aab",
      flag: 4242,
      list: [4242, true],
      either: "sk-live-123",
      extra: "sk-live-123",
    }
    const misfits = validateValue(secret, type, {}, "secrets", { values: "hidden" })
    assert.equal(misfits.length, 8)
    assert.doesNotMatch(JSON.stringify(misfits), /sk-live|aab|4242|true/)
    assert.ok(misfits.every(({ hint }) => hint === undefined))
    assert.equal(misfits[0]?.message, "secrets.token: expected integer, found string")
  })

  test("the number of misfits is bounded, and so is the time they take", () => {
    const bad = { files: Array.from({ length: 200_000 }, () => ({ path: 1, patch: 2, more: 3 })) }
    assert.equal(validateValue(bad, files, {}, "input").length, 100)
    assert.equal(validateValue(bad, files, {}, "input", { most: 3 }).length, 3)
    const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`key${at}`, at]))
    assert.equal(validateValue(keys, record({ key: string }), {}, "input").length, 100)
    assert.equal(validateValue([parsed("1e400"), ...Array(1000).fill(Infinity)], any, {}, "input").length, 100)
  })

  soakTest("large types take no longer to complain about than small ones", async () => {
    const names = Array.from({ length: 50_000 }, (_, at) => `name_${at}`)
    const wide = record(Object.fromEntries(names.map((name) => [name, string])))
    const extras = Object.fromEntries(names.map((name) => [`x${name}`, 1]))
    await assertCpuBelow(20_000, () => {
      assert.equal(validateValue(extras, wide, {}, "input").length, 100)
      assert.equal(validateValue(extras, record({ name_1: string }), {}, "input").length, 100)
      assert.equal(validateValue(Array(1000).fill("x"), array(oneOf(...names)), {}, "input").length, 100)
      const anyOfThem = either(...names.map(literal), nothing)
      assert.equal(validateValue(names, array(anyOfThem), {}, "input").length, 0)
      assert.equal(validateValue(Array(1000).fill("x"), array(anyOfThem), {}, "input").length, 100)
    })
  })

  const deep = (depth: number, open: string, middle: string, close: string): unknown => {
    return parsed(open.repeat(depth) + middle + close.repeat(depth))
  }

  test("a value ten thousand levels deep is a misfit, not a crash", () => {
    const tooDeep = /^input(\.next){40}…: expected at most 500 levels of nesting$/
    for (const type of [ref("chain"), any, object, maybe(ref("chain"))]) {
      const [misfit, ...more] = validateValue(deep(10_000, '{"next":', "null", "}"), type, types, "input")
      assert.match(misfit?.message ?? "", tooDeep)
      assert.deepEqual(more, [])
    }
    assert.equal(messages(deep(10_000, "[", "", "]"), any).length, 1)
    assert.equal(messages(deep(10_000, "[", "", "]"), array(any)).length, 1)
    assert.equal(messages(deep(10_000, '{"value":"","children":[', "", "]}"), ref("tree")).length, 1)
    assert.equal(messages(deep(499, '{"next":', "null", "}"), ref("chain")).length, 0)
  })

  test("there is stack enough for the deepest value, even when much is in use", () => {
    const burn = (frames: number, then: () => void): void => (frames === 0 ? then() : burn(frames - 1, then))
    const value = deep(450, '{"next":', '{"next":1,"more":2}', "}")
    burn(3000, () => assert.equal(messages(value, ref("chain")).length, 2))
  })

  test("the work of trying the members of a union on many values is bounded, whether they fit or not", async () => {
    const counts = [...Array(3000).keys()]
    const alike = either(...counts.map((at) => record({ kind: literal(`k${at}`), more: object })))
    const others = either(...counts.map((at) => record({ [`a${at}`]: string, [`b${at}`]: string })))
    const more = { list: Array.from({ length: 1000 }, (_, at) => at) }
    const last = Array.from({ length: 50_000 }, () => ({ kind: "k2999", more }))
    const unknown = Array.from({ length: 50_000 }, () => ({ kind: "k3000", more }))
    const few = Array.from({ length: 100 }, () => ({ kind: "k1", more: {} }))
    const expected =
      "input: expected fewer values, or a type with fewer alternatives, found too many values to try every alternative of a union on"
    await assertCpuBelow(10_000, () => {
      assert.deepEqual(messages(last, array(alike)), [expected])
      assert.equal(messages(unknown, array(alike)).length, 100)
      assert.equal(messages(last, array(others)).length, 100)
      assert.deepEqual(messages([...few, { kind: "k1" }], array(alike)), [
        "input[100].more is missing: expected object",
      ])
      assert.deepEqual(messages(few, array(alike)), [])
    })
  })

  test("nested unions cost time by their size, not by the number of ways through them", async () => {
    // At each level the value could be an `a` or a `b`; only the bottom tells that it is neither.
    const value = deep(400, '{"next":', '{"next":null,"x":""}', ',"x":""}') as object
    const wrong = deep(400, '{"next":', '{"next":null,"x":1}', ',"x":""}') as object
    await assertCpuBelow(10_000, () => {
      assert.deepEqual(messages(value, ref("a")), [])
      assert.deepEqual(messages(wrong, either(ref("b"), ref("a"))).length, 1)
    })
  })
})
