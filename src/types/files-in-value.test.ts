import assert from "node:assert/strict"
import { test } from "node:test"
import { filesInValue } from "./files-in-value.ts"

const file = (file_id: string) => ({ file_id, name: "a", media_type: "text/plain", bytes: 1, sha256: "00" })

test("the files in a value, each once, in order", () => {
  const value = { a: [file("1"), { b: file("2") }], c: file("1"), d: { ...file("3"), more: 1 }, e: null, f: "x" }
  assert.deepEqual(filesInValue(value), [file("1"), file("2")])
  assert.deepEqual(filesInValue(file("1")), [file("1")])
  assert.deepEqual(filesInValue(undefined), [])
})
