import assert from "node:assert/strict"
import { PassThrough } from "node:stream"
import { test } from "node:test"
import { drained } from "./drained.ts"

function full(): PassThrough {
  const stream = new PassThrough({ highWaterMark: 1 })
  assert.equal(stream.write("much"), false)
  return stream
}

test("resolves when the stream is read", async () => {
  const stream = full()
  const waiting = drained(stream, new AbortController().signal)
  assert.equal(stream.listenerCount("drain"), 1)
  stream.resume()
  await waiting
  assert.equal(stream.listenerCount("drain"), 0)
})

test("resolves when the signal aborts", async () => {
  const stream = full()
  const gone = new AbortController()
  const waiting = drained(stream, gone.signal)
  gone.abort()
  await waiting
  assert.equal(stream.listenerCount("drain"), 0)
})

test("does not wait after the signal has aborted, nor for a stream that takes more", async () => {
  await drained(full(), AbortSignal.abort())
  await drained(new PassThrough(), new AbortController().signal)
})
