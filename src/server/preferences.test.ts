import assert from "node:assert/strict"
import { test } from "node:test"
import { preferencesOf } from "./preferences.ts"

test("finds a preference by its name, whatever stands around it", () => {
  for (const header of [
    "respond-async",
    "Respond-Async",
    "wait=10, respond-async",
    " respond-async ; x=1",
    'foo="a, b", respond-async',
    "respond-async=",
    ["return=minimal", "respond-async"],
  ]) {
    assert.ok(preferencesOf(header).has("respond-async"), String(header))
  }
})

test("does not find it inside other words or quoted values", () => {
  for (const header of [undefined, "", "respond-asynchronously", 'foo="x, respond-async, y"', "foo=respond-async"]) {
    assert.ok(!preferencesOf(header).has("respond-async"), String(header))
  }
})
