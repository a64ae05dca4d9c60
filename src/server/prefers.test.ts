import assert from "node:assert/strict"
import { test } from "node:test"
import { prefers } from "./prefers.ts"

const cases: readonly [accept: string, text: boolean][] = [
  ["", false],
  ["*/*", false],
  ["application/json", false],
  ["text/html", false],
  ["text/plain", true],
  ["TEXT/PLAIN; charset=utf-8", true],
  ["text/*", true],
  ["text/plain, */*", true],
  ["text/plain;q=0.5, */*;q=0.1", true],
  ["application/json;q=0.5, text/plain", true],
  ["application/json, text/plain;q=0.9", false],
  // What some clients send with everything.
  ["application/json, text/plain, */*", false],
  ["text/plain;q=0, */*", false],
  ["text/plain;q=0", false],
]

for (const [accept, text] of cases) {
  test(`Accept: ${accept}`, () => {
    assert.equal(prefers(accept, "text/plain", "application/json"), text)
  })
}
