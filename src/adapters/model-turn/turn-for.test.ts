import assert from "node:assert/strict"
import { test } from "node:test"
import { askModel } from "../../../test/support/ask-model.ts"
import { messageItem, response } from "../../../test/support/fake-backend.ts"
import type { Egress } from "../../ports/egress.ts"
import { userText } from "../../log/messages.ts"
import type { ModelRequest, ModelWatch } from "../../ports/model.ts"

/** An egress whose answers arrive immediately. */
function answersAtOnce(text: string): Egress {
  const answer = {
    status: 200,
    headers: { "content-type": "application/json" },
    url: "",
    body: [] as unknown as AsyncIterable<Uint8Array>,
    text: () => Promise.resolve(text),
    discard: () => undefined,
  }
  const never = (): never => assert.fail("Nothing is fetched")
  return { request: () => Promise.resolve(answer), fetch: never, close: () => Promise.resolve() }
}

const backend: ModelRequest["backend"] = {
  api: "responses",
  endpoint: "http://backend.test/v1",
  api_key: null,
  headers: {},
}

/** How often answers are searched for secrets, which happens in each step of the work on one, in each turn of the event loop. */
async function stepsPerTurn(t: test.TestContext, count: number, message: string): Promise<number[]> {
  const body = JSON.stringify(response([messageItem(JSON.stringify({ message, tone: "warm" }))]))
  const model = askModel(t, { egress: answersAtOnce(body) })
  const steps: number[] = []
  let turn = 0
  const next = (): void => void (turn++, (ticker = setImmediate(next)))
  let ticker = setImmediate(next)
  const redact: ModelWatch["redact"] = (value) => {
    steps[turn] = (steps[turn] ?? 0) + 1
    return value
  }
  await Promise.all(Array.from({ length: count }, () => model.ask({ backend }, { redact })))
  clearImmediate(ticker)
  return steps.filter((taken) => taken > 0)
}

test("of many large answers that come at once, each step has a turn of the event loop of its own", async (t) => {
  assert.deepEqual(
    await stepsPerTurn(t, 10, "x".repeat(200_000)),
    Array.from({ length: 20 }, () => 1),
  )
})

test("small answers wait for nothing", async (t) => {
  assert.ok((await stepsPerTurn(t, 10, "Hello")).includes(20))
})

test("a run that ends while its answer waits gets no result", async (t) => {
  const body = JSON.stringify(response([messageItem(JSON.stringify({ message: "x".repeat(200_000), tone: "warm" }))]))
  const model = askModel(t, { egress: answersAtOnce(body) })
  const stop = new AbortController()
  const asked = model.ask({ backend }, { signal: stop.signal })
  setImmediate(() => stop.abort(new Error("Cancelled")))
  await assert.rejects(asked, /Cancelled/)
})

test("of many large requests that begin at once, each is written in a turn of the event loop of its own", async (t) => {
  const body = JSON.stringify(response([messageItem(JSON.stringify({ message: "Hello", tone: "warm" }))]))
  const sent: number[] = []
  let turn = 0
  const next = (): void => void (turn++, (ticker = setImmediate(next)))
  let ticker = setImmediate(next)
  const inner = answersAtOnce(body)
  const egress: Egress = {
    ...inner,
    request: (...args) => {
      sent.push(turn)
      return inner.request(...args)
    },
  }
  const model = askModel(t, { egress })
  const input = [userText("x".repeat(200_000))]
  await Promise.all(Array.from({ length: 10 }, () => model.ask({ backend, input })))
  clearImmediate(ticker)
  assert.equal(new Set(sent).size, 10)
})
