import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { startServer } from "../../../test/support/http-server.ts"
import { openGate } from "../../ports/gate.ts"
import { redactor } from "../../run/secrets/redact.ts"
import { createEgress } from "../egress/egress.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { exchange, logProbabilities } from "./exchange.ts"
import type { Fold } from "./fold-events.ts"

class CountingFold implements Fold {
  length = 0
  readonly ended = false
  added: () => void = () => {}
  #events = 0

  add(): string {
    this.#events++
    this.added()
    return ""
  }

  whole(): JsonObject {
    return { events: this.#events }
  }
}

/** The answer that is read when a backend sends this body. */
async function answerOf(
  t: TestContext,
  body: string,
  type: string,
  stream: boolean,
  fold: Fold = new CountingFold(),
): Promise<JsonObject> {
  const backend = await startServer((_, response) => response.writeHead(200, { "content-type": type }).end(body))
  const egress = createEgress({ policy: { kind: "private" } })
  t.after(() => Promise.all([egress.close(), backend.close()]))
  const now = (): number => Date.now()
  return exchange({
    dialect: { problem: () => null, fold: () => fold, unread: logProbabilities },
    read: (answer) => answer,
    egress,
    url: `${backend.origin}/chat/completions`,
    headers: { "content-type": "application/json" },
    call: {
      attempt: 1,
      limits: { firstByteMs: 60_000, silenceMs: 60_000, totalMs: 120_000, max_bytes: 4_194_304 },
      watch: {
        signal: t.signal,
        now,
        gate: openGate,
        retried: () => Promise.resolve(),
        delta: () => {},
        redact: (value) => value,
        redactStream: () => redactor({}).stream(),
      },
      now,
    },
    stream,
    body: "{}",
  })
}

for (const type of ["text/event-stream", "text/plain"]) {
  test(`a stream of small events, sent as ${type}, leaves others their turns`, async (t) => {
    const text = 'data: {"a":"x"}\n\n'.repeat(60_000)
    const events = new CountingFold()
    let turn = 0
    const turns = new Set<number>()
    events.added = () => turns.add(turn)
    let timer = setImmediate(function count() {
      turn++
      timer = setImmediate(count)
    })
    const answer = await answerOf(t, text, type, true, events)
    clearImmediate(timer)
    assert.deepEqual(answer, { events: 60_000 })
    assert.ok(turns.size >= text.length / (16 * 1024) / 2, `${turns.size} turns`)
  })
}

test("an answer, or an event, that holds more values than a model writes is refused before it is parsed", async (t) => {
  const body = (parts: number): string => `{"choices":[${'{"text":"x"},'.repeat(parts)}{}]}`
  const json = "application/json"
  assert.equal(JSON.stringify(await answerOf(t, body(10_000), json, false)), body(10_000))
  await assert.rejects(answerOf(t, body(20_000), json, false), /too many JSON values/)
  await assert.rejects(answerOf(t, `data: ${body(20_000)}\n\n`, "text/event-stream", true), /too many JSON values/)
})

test("log probabilities of 4,096 tokens, 20 for each, pass: nobody reads them", async (t) => {
  const other = '{"token":" word","logprob":-12.345678,"bytes":[32,119,111,114,100]}'
  const token = `{"token":" word","logprob":-0.001,"bytes":[32,119,111,114,100],"top_logprobs":[${Array.from({ length: 20 }, () => other).join(",")}]}`
  const logprobs = `{"content":[${`${token},`.repeat(4095)}${token}]}`
  const body = (value: string): string => `{"choices":[{"message":{"content":"x"},"logprobs":${value},"index":0}]}`
  assert.equal(JSON.stringify(await answerOf(t, body(logprobs), "application/json", false)), body("null"))
  await assert.rejects(answerOf(t, `{"choices":${logprobs}}`, "application/json", false), /more than 4194304 bytes/)
})

test("an event without an end is refused when it is too large", async (t) => {
  const events = `data: {}\n\ndata: ${"x".repeat(5_000_000)}`
  await assert.rejects(answerOf(t, events, "text/event-stream", true), /An event of the stream is too large/)
})
