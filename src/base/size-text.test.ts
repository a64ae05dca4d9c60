import assert from "node:assert/strict"
import { test } from "node:test"
import { sizeText } from "./size-text.ts"

test("sizes in the unit that keeps them short", () => {
  const rows: [number, string][] = [
    [0, "0 bytes"],
    [1, "1 byte"],
    [1023, "1023 bytes"],
    [1024, "1.0 KiB"],
    [10_188, "9.9 KiB"],
    [10_200, "10 KiB"],
    [1024 * 1024 - 1, "1.0 MiB"],
    [64 * 1024 * 1024, "64 MiB"],
    [2 ** 50, "1024 TiB"],
  ]
  for (const [bytes, text] of rows) assert.equal(sizeText(bytes), text)
})
