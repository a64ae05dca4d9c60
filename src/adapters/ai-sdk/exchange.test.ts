import assert from "node:assert/strict"
import { test } from "node:test"
import type { Egress } from "../../ports/egress.ts"
import type { Call } from "../model-turn/model-api.ts"
import type { Dialect } from "./dialect.ts"
import { Exchange } from "./exchange.ts"

/** The answer that a package gets when a backend sends this body in one piece. */
async function answerOf(body: string, type: string, stream: boolean): Promise<Response> {
  const bytes = Buffer.from(body)
  const response = {
    status: 200,
    headers: { "content-type": type },
    body: [bytes],
    text: () => Promise.resolve(body),
    discard: () => {},
  }
  const exchange = new Exchange({
    dialect: { problem: () => null } as unknown as Dialect,
    egress: { request: () => Promise.resolve(response) } as unknown as Egress,
    url: "http://127.0.0.1/",
    headers: {},
    call: {
      watch: { redact: (value: unknown) => value, signal: new AbortController().signal },
      limits: {},
      now: () => 0,
    } as unknown as Call,
    stream,
    finish: (request) => request,
  })
  return exchange.fetch("http://127.0.0.1/", { body: "{}" })
}

test("a stream of small events leaves others their turns", async () => {
  const text = 'data: {"a":"x"}\n\n'.repeat(60_000)
  const answer = await answerOf(text, "text/event-stream", true)
  let turns = 0
  let reading = true
  const count = (): void => {
    turns++
    if (reading) setImmediate(count)
  }
  setImmediate(count)
  assert.equal(await answer.text(), text)
  reading = false
  assert.ok(turns >= 50, String(turns))
})

test("an answer, or an event, that holds more values than a model writes is refused before a package checks them", async () => {
  const body = (parts: number): string => `{"parts":[${'{"text":"x"},'.repeat(parts)}{}]}`
  assert.equal(await (await answerOf(body(10_000), "application/json", false)).text(), body(10_000))
  await assert.rejects(answerOf(body(20_000), "application/json", false), /too many JSON values/)
  const events = await answerOf(`data: ${body(20_000)}\n\n`, "text/event-stream", true)
  await assert.rejects(events.text(), /too many JSON values/)
})
