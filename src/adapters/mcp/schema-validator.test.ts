import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { SchemaValidator } from "./schema-validator.ts"

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
  // Of the dialects, that which the schema names.
  [
    { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }] },
    [1],
    [["[0]", "expected string, found number"]],
  ],
]

for (const [schema, value, problems] of rows) {
  test(`${JSON.stringify(schema)} and ${JSON.stringify(value)}`, () => {
    const found = new SchemaValidator(schema).check(value)
    assert.deepEqual(
      found.map(({ path, message }) => [path, message]),
      problems,
    )
  })
}

test("schemas that refer to each other without end, and values without end, take their time and no more", () => {
  const $defs: JsonObject = {}
  for (let at = 0; at < 40; at++) {
    const next = { $ref: `#/$defs/d${at + 1}` }
    $defs[`d${at}`] = { anyOf: [next, next] }
  }
  $defs["d40"] = { type: "string" }
  const slow = new SchemaValidator({ $ref: "#/$defs/d0", $defs })
  const started = performance.now()
  assert.deepEqual(slow.check(1), [{ path: "", message: "takes too long to validate against its schema" }])
  assert.ok(performance.now() - started < 3000)
  // The next one is not the worse for it.
  assert.deepEqual(new SchemaValidator({ pattern: "^x$" }).check("x"), [])
})

test("a schema that refers to itself", () => {
  const tree = new SchemaValidator({
    type: "object",
    properties: { children: { type: "array", items: { $ref: "#" } } },
    additionalProperties: false,
  })
  assert.deepEqual(tree.check({ children: [{ children: [] }] }), [])
  assert.deepEqual(tree.check({ children: [{ child: [] }] }), [
    { path: "children[0].child", message: "is not allowed" },
  ])
})
