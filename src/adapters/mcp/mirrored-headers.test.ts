import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../base/json-value.ts"
import { badMirrors } from "./mirrored-headers.ts"

const arg = (name: unknown, type = "string"): JsonObject => ({ type, "x-mcp-header": name as string })
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more })

test("arguments of simple types, at any depth of properties", () => {
  assert.equal(
    badMirrors(object({ a: arg("Region"), b: arg("Count", "integer"), c: object({ d: arg("Flag", "boolean") }) })),
    undefined,
  )
  assert.equal(badMirrors({ type: "object" }), undefined)
})

const bad: readonly [what: string, schema: JsonObject, problem: RegExp][] = [
  ["an empty name", object({ a: arg("") }), /not a header name/],
  ["a name with a line break", object({ a: arg("A\r\nB") }), /not a header name/],
  ["a name with a blank", object({ a: arg("A B") }), /not a header name/],
  ["a name that is no text", object({ a: arg(7) }), /not a header name/],
  ["a number", object({ a: arg("A", "number") }), /not a string, integer or boolean/],
  ["an object", object({ a: arg("A", "object") }), /not a string, integer or boolean/],
  ["the same name twice", object({ a: arg("A"), b: arg("a") }), /the x-mcp-header a twice/],
  ["the whole", { ...object({}), "x-mcp-header": "A" }, /where it is not allowed/],
  ["elements of a list", object({ a: { type: "array", items: arg("A") } }), /where it is not allowed/],
  ["a branch", object({}, { anyOf: [object({ a: arg("A") })] }), /where it is not allowed/],
  ["a definition", object({}, { $defs: { a: arg("A") } }), /where it is not allowed/],
]
for (const [what, schema, problem] of bad) test(what, () => assert.match(badMirrors(schema) ?? "", problem))
