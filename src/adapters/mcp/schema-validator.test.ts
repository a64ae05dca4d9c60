import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { SchemaValidator } from "./schema-validator.ts"
import { OverBudget, StepBudget } from "./step-budget.ts"

const check = (schema: JsonObject, value: JsonValue): ReturnType<SchemaValidator["check"]> =>
  new SchemaValidator(schema).check(value, new StepBudget(100_000))

const rows: readonly [schema: JsonObject, value: JsonValue, problems: [path: string, message: string][]][] = [
  [{ type: "object" }, [], [["", "expected object, found array"]]],
  [{ type: "object", required: ["a", "b"] }, { a: 1 }, [["", "b is missing"]]],
  [
    { type: "object", properties: { a: { type: "array", items: { type: "integer" } } } },
    { a: [1, "x", 2.5] },
    [
      ["a[1]", "expected integer, found string"],
      ["a[2]", "expected integer, found number"],
    ],
  ],
  [{ type: "object", properties: {}, additionalProperties: false }, { "x-y": 1 }, [['["x-y"]', "is not allowed"]]],
  [
    { properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } } },
    { a: 1 },
    [["a", "fits none of the schemas that it may have"]],
  ],
  [{ properties: { a: { enum: ["x", "y"] } } }, { a: "z" }, [["a", 'does not match any of ["x","y"]']]],
  [{ properties: { a: { minLength: 3 } } }, { a: "z" }, [["a", "string is too short (1 < 3)"]]],
  [
    { $defs: { n: { type: "number", minimum: 0 } }, properties: { a: { $ref: "#/$defs/n" } } },
    { a: -1 },
    [["a", "-1 is less than 0"]],
  ],
  // Remarks, not rules: what a server means by a format is its own business.
  [{ properties: { a: { format: "email" } } }, { a: "no address" }, []],
  // A property may be called like a keyword.
  [{ properties: { $ref: { type: "string" }, format: { type: "string" } } }, { $ref: "x", format: "y" }, []],
  [{ properties: { format: { type: "string" } } }, { format: 1 }, [["format", "expected string, found number"]]],
  [{ contains: { const: 1 }, unevaluatedItems: false }, [1, 2], [["[1]", "is not allowed"]]],
  [{ anyOf: [{ prefixItems: [{ const: 1 }] }, { items: { const: 3 } }], unevaluatedItems: false }, [1], []],
  [
    { uniqueItems: true },
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [["", "has an item twice"]],
  ],
  [{ multipleOf: 0.1 }, 0.3, []],
  [{ minimum: 1, exclusiveMinimum: true }, 1, [["", "1 is not greater than 1"]]],
  // Keys that every object has from its prototype are keys like others.
  [{ required: ["constructor"], properties: { toString: { type: "string" } } }, {}, [["", "constructor is missing"]]],
  [{ additionalProperties: false }, JSON.parse('{"__proto__":1}') as JsonObject, [["__proto__", "is not allowed"]]],
  // Nothing is demanded by a pattern that takes more than one reading.
  [{ pattern: "^(?=a)" }, "b", []],
  [{ patternProperties: { "(a)\\1": { type: "string" } }, additionalProperties: false }, { aa: 1 }, []],
  [{ pattern: "(" }, "b", []],
  // In drafts up to 7, nothing beside a reference counts.
  [
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      definitions: { a: {} },
      $ref: "#/definitions/a",
      type: "null",
    },
    1,
    [],
  ],
  // The schema names its dialect.
  [
    { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }] },
    [1],
    [["[0]", "expected string, found number"]],
  ],
]

for (const [schema, value, problems] of rows) {
  test(`${JSON.stringify(schema)} and ${JSON.stringify(value)}`, () => {
    const found = check(schema, value)
    assert.deepEqual(
      found.map(({ path, message }) => [path, message]),
      problems,
    )
  })
}

const without = (schema: JsonObject, value: JsonValue): void => {
  assert.throws(() => new SchemaValidator(schema).check(value, new StepBudget(200_000)), OverBudget)
}

test("schemas that refer to each other without end take the same number of steps on every machine", () => {
  const $defs: JsonObject = {}
  for (let at = 0; at < 40; at++) {
    const next = { $ref: `#/$defs/d${at + 1}` }
    $defs[`d${at}`] = { anyOf: [next, next] }
  }
  $defs["d40"] = { type: "string" }
  without({ $ref: "#/$defs/d0", $defs }, 1)
  // It does not end by the depth of the stack.
  without({ $ref: "#" }, 1)
  without({ allOf: [{ $ref: "#" }, { $ref: "#" }] }, 1)
  without({ $dynamicAnchor: "a", $dynamicRef: "#a" }, 1)
  without({ $recursiveRef: "#" }, 1)
  // The next one is not the worse for it.
  assert.deepEqual(check({ pattern: "^x$" }, "x"), [])
})

test("a schema of 64 levels and a value of 200 levels are validated in a small stack", () => {
  let deep: JsonObject = {}
  for (let level = 0; level < 60; level++) deep = { allOf: [deep] }
  assert.deepEqual(check(deep, 1), [])
  let value: JsonValue = 1
  for (let level = 0; level < 190; level++) value = [value]
  assert.deepEqual(check({ items: { $ref: "#" } }, value), [])
})

test("a schema that refers to itself", () => {
  const tree = {
    type: "object",
    properties: { children: { type: "array", items: { $ref: "#" } } },
    additionalProperties: false,
  }
  assert.deepEqual(check(tree, { children: [{ children: [] }] }), [])
  assert.deepEqual(check(tree, { children: [{ child: [] }] }), [
    { path: "children[0].child", message: "is not allowed" },
  ])
})
