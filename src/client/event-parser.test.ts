import assert from "node:assert/strict"
import { test } from "node:test"
import { createParser } from "eventsource-parser"
import { fc } from "../../test/support/fast-check.ts"
import { cases } from "../../test/support/strength.ts"
import { EventParser } from "./event-parser.ts"

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
      new EventParser({
        onEvent: ({ id, event, data }) => report(JSON.stringify([id, event, data])),
        onRetry: (ms) => report(`retry ${ms}`),
      }),
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

test("an id counts for its event alone; a byte order mark and an event that is not at its end are left out", () => {
  const events: (string | undefined)[][] = []
  const parser = new EventParser({
    onEvent: ({ id, event, data }) => events.push([id, event, data]),
    onRetry: () => assert.fail("no retry"),
  })
  for (const piece of [
    "\uFEFFid: 1\r",
    "\nevent: a\r\nda",
    "ta: 1\r\ndata: 2\r\n\r",
    "\ndata: 3\n\n",
    "id: 9\ndata: 4\n",
  ]) {
    parser.feed(piece)
  }
  assert.deepEqual(events, [
    ["1", "a", "1\n2"],
    [undefined, undefined, "3"],
  ])
})
