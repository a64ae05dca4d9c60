import assert from "node:assert/strict"
import { test } from "node:test"
import { partialJson } from "./partial-json.ts"

test("an answer grows field by field", () => {
  const whole = { title: 'A "quoted" line\nand é', tags: ["a", "b"], count: 12, ok: true, none: null, in: { x: -1.5 } }
  const text = JSON.stringify(whole).replace("é", "\\u00e9")
  const seen = new Set<string>()
  for (let end = 1; end <= text.length; end++) {
    const value = partialJson(text.slice(0, end))
    assert.ok(typeof value === "object" && value !== null && !Array.isArray(value))
    seen.add(Object.keys(value).join())
    // Each field has its final value; the one that is being written has the beginning of it.
    const title = value["title"]
    if (typeof title === "string") assert.ok(whole.title.startsWith(title), title)
  }
  assert.deepEqual([...seen], ["", "title", "title,tags", "title,tags,count", ...four()])
  assert.deepEqual(partialJson(text), whole)
})

function four(): string[] {
  const names = ["title", "tags", "count", "ok", "none", "in"]
  return [4, 5, 6].map((count) => names.slice(0, count).join())
}

test("what is not JSON is none, and nonsense does not end in a loop", () => {
  for (const text of ["", "Hello", "12", '"text"']) assert.equal(partialJson(text), undefined)
  assert.deepEqual(partialJson('```json\n{"a": [1, 2'), { a: [1, 2] })
  assert.deepEqual(partialJson('{"__proto__": {"x": 1}'), JSON.parse('{"__proto__": {"x": 1}}'))
  for (const text of ["{,,,]", '{"a" "b"}', "[[[[", "{]}[", '{"a": \\', "[tru", "[1 2 x", "[".repeat(10_000)])
    partialJson(text)
})
