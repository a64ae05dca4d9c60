import assert from "node:assert/strict"
import { test } from "node:test"
import { createParser } from "eventsource-parser"
import { assertLinear } from "../../test/support/cpu-time.ts"
import { fc } from "../../test/support/fast-check.ts"
import { cases } from "../../test/support/strength.ts"
import { EventReader } from "./event-reader.ts"

/** What was reported for a text, as lines. */
function read(pieces: readonly string[], begin: (report: (line: string) => void) => { feed(piece: string): void }) {
  const lines: string[] = []
  const parser = begin((line) => lines.push(line))
  for (const piece of pieces) parser.feed(piece)
  return lines
}

const ours = (pieces: readonly string[]): string[] =>
  read(
    pieces,
    (report) =>
      new EventReader(
        {
          onEvent: ({ id, event, data }) => report(JSON.stringify([id, event, data])),
          onRetry: (ms) => report(`retry ${ms}`),
          onTooLong: () => report("too long"),
        },
        10_000,
      ),
  )

const theirs = (pieces: readonly string[]): string[] =>
  read(pieces, (report) =>
    createParser({
      onEvent: ({ id, event, data }) => report(JSON.stringify([id, event, data])),
      onRetry: (ms) => report(`retry ${ms}`),
    }),
  )

test("the same events as another parser finds, however the text is cut", () => {
  const lines =
    'data: a|data:b|data|data:  c|event: x|event:|event|: comment|id: 7|id|retry: 50|retry: 5x|other: 1||data: {"a": "b:c"}'
  const line = fc.constantFrom(...lines.split("|"))
  const text = fc
    .array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 20 })
    .map((ended) => ended.map(([words, end]) => words + end).join(""))
  const cuts = fc.array(fc.nat(200), { maxLength: 12 })
  fc.assert(
    fc.property(text, cuts, (whole, at) => {
      const places = [0, ...at.map((place) => place % (whole.length + 1)).toSorted((a, b) => a - b), whole.length]
      const pieces = places.slice(1).map((end, index) => whole.slice(places[index], end))
      assert.equal(pieces.join(""), whole)
      assert.deepEqual(ours(pieces), ours([whole]))
      // A lone carriage return at the end of a text may have a line feed after it: the other parser waits for it.
      assert.deepEqual(ours([`${whole}\n\n`]), theirs([`${whole}\n\n`]))
    }),
    { numRuns: cases(1_000) },
  )
})

test("an id counts for its event alone, and an event counts once it has ended", () => {
  const events: (string | undefined)[][] = []
  const reader = new EventReader(
    {
      onEvent: ({ id, event, data }) => events.push([id, event, data]),
      onRetry: () => assert.fail("no retry"),
      onTooLong: () => assert.fail("none is too long"),
    },
    100,
  )
  for (const piece of ["id: 1\r", "\nevent: a\r\nda", "ta: 1\r\ndata: 2\r\n\r", "\ndata: 3\n\n", "id: 9\ndata: 4\n"]) {
    reader.feed(piece)
  }
  assert.deepEqual(events, [
    ["1", "a", "1\n2"],
    [undefined, undefined, "3"],
  ])
  reader.end()
  assert.deepEqual(events.at(-1), ["9", undefined, "4"])
})

test("an event that is too long is reported once, in one line or in many; comments and events that have ended do not count", () => {
  const reported = (pieces: readonly string[], most: number): string[] =>
    read(
      pieces,
      (report) =>
        new EventReader({ onEvent: ({ data }) => report(data.slice(0, 3)), onTooLong: () => report("too long") }, most),
    )
  const pieces = (text: string, length: number): string[] =>
    Array.from({ length: Math.ceil(text.length / length) }, (_, at) => text.slice(at * length, (at + 1) * length))
  for (const length of [1, 7, 40]) {
    for (const text of [`data: ${"x".repeat(200)}\n\n`, `${"data: xxx\n".repeat(40)}\n`]) {
      assert.deepEqual(reported(pieces(`data: a\n\n${text}data: b\n\n`, length), 100), ["a", "too long"])
    }
    const fine = `${": a comment\n".repeat(40)}data: ${"x".repeat(90)}\r\n\r\n`
    assert.deepEqual(
      reported(pieces(fine.repeat(5), length), 100),
      Array.from({ length: 5 }, () => "xxx"),
    )
  }
})

test("takes linear time, however the lines end", async () => {
  for (const text of ["\n", "\r", "\r\n", "x", "data: x\n", "data:\n"]) {
    const receiver = { onEvent: () => undefined, onTooLong: () => undefined }
    await assertLinear(
      (size) => new EventReader(receiver, Infinity).feed(`${text.repeat(size / text.length)}\rx`),
      100_000,
      1_600_000,
    )
  }
})
