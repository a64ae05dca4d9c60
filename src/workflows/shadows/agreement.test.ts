import assert from "node:assert/strict"
import { it } from "node:test"
import { differences } from "./agreement.ts"

it("names where outputs differ, at the paths that count", () => {
  const before = { team: "sales", parts: { a: 1, b: [1, 2] }, note: null }
  const after = { team: "sales", parts: { a: 2, b: [1, 3] } }
  assert.deepEqual(differences(before, before, []), [])
  assert.deepEqual(differences(before, after, []), ["output.parts.a", "output.parts.b"])
  assert.deepEqual(differences(before, after, [["team"]]), [])
  assert.deepEqual(differences(before, after, [["parts", "a"], ["parts"]]), ["output.parts.a", "output.parts.b"])
  assert.deepEqual(differences(before, { ...before, parts: "none" }, [["parts", "a"]]), ["output.parts.a"])
})
