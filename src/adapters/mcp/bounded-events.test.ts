import assert from "node:assert/strict"
import { test } from "node:test"
import { EgressFailure } from "../../ports/egress.ts"
import type { EventLimits } from "./bounded-events.ts"
import { boundedEvents } from "./bounded-events.ts"

async function read(text: string, pieceLength: number, limits: number | EventLimits): Promise<string> {
  const most = typeof limits === "number" ? { eventBytes: limits, bytes: 5000, events: 100 } : limits
  const bytes = new TextEncoder().encode(text)
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += pieceLength) controller.enqueue(bytes.slice(at, at + pieceLength))
      controller.close()
    },
  })
  let read = ""
  const decoder = new TextDecoder()
  for await (const chunk of boundedEvents(source, most)) read += decoder.decode(chunk, { stream: true })
  return read
}

test("a stream that goes on and on breaks off, after many bytes or many events", async () => {
  for (const text of [`data: ${"x".repeat(80)}\n\n`.repeat(60), "data: x\n\n".repeat(101)]) {
    await assert.rejects(
      read(text, 100, 100),
      (error) => error instanceof EgressFailure && error.reason === "too_large",
    )
  }
})

for (const piece of [1, 3, 1000]) {
  test(`many events of the allowed size pass, in pieces of ${piece}`, async () => {
    for (const end of ["\n", "\r\n"]) {
      const event = `id: 1${end}data: ${"x".repeat(30)}${end}${end}`
      const text = event.repeat(20)
      assert.equal(await read(text, piece, event.length + 2), text)
    }
  })

  test(`an event that is too large breaks the stream off, in one line or in many, in pieces of ${piece}`, async () => {
    for (const text of [`data: ${"x".repeat(200)}`, "data: x\n".repeat(40), `data: x\n\n${"data: x\r\n".repeat(40)}`]) {
      await assert.rejects(
        read(text, piece, 100),
        (error) => error instanceof EgressFailure && error.reason === "too_large",
      )
    }
  })
}

test("each event may be as much work as a text, however the stream is cut, and no more", async () => {
  const values = (count: number): string => `data: [${"{},".repeat(count)}1]\n\n`
  const most = { eventBytes: 2_000_000, bytes: 10_000_000, events: 100 }
  for (const piece of [10_007, 1_000_000]) {
    const fine = values(200_000).repeat(3)
    assert.equal((await read(fine, piece, most)).length, fine.length)
    await assert.rejects(read(values(10) + values(300_000), piece, most), /too many values/)
  }
})
