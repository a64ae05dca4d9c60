import assert from "node:assert/strict"
import { Readable } from "node:stream"
import { test } from "node:test"
import { wholeLines } from "./whole-lines.ts"

async function read(pieces: readonly string[]): Promise<string[]> {
  const lines: string[] = []
  for await (const some of wholeLines(Readable.from(pieces))) lines.push(some)
  return lines
}

test("lines come whole, however the text is cut, and the last one gets its line break", async () => {
  assert.deepEqual(await read(["a", "b\nc", "\nd\n", "", "e"]), ["ab\n", "c\nd\n", "e\n"])
  assert.deepEqual(await read(["a\n"]), ["a\n"])
  assert.deepEqual(await read([]), [])
})

test("a line without an end is cut, and nothing of it is lost", async () => {
  const piece = "x".repeat(65_536)
  const lines = await read([...Array.from({ length: 40 }, () => piece), "y\nz\n"])
  assert.equal(lines.length, 3)
  assert.ok(lines.every((line) => line.endsWith("\n") && line.length < 1_200_000))
  assert.equal(lines.join("").replaceAll("\n", ""), `${piece.repeat(40)}yz`)
})
