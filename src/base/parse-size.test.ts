import assert from "node:assert/strict"
import { test } from "node:test"
import { parseSize } from "./parse-size.ts"

test("sizes", () => {
  const known = { "8mb": 8_388_608, "512kb": 524_288, "100b": 100, "7": 7, "2GB": 2_147_483_648 }
  for (const [text, bytes] of Object.entries(known)) assert.equal(parseSize(text), bytes, text)
})

test("anything else is not a size", () => {
  for (const text of ["", "mb", "1.5mb", "-1b", "8 mb", "8mib", "8k", "9999999999"]) {
    assert.equal(parseSize(text), undefined, text)
  }
})
