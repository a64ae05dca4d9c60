import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonValue } from "../../base/json-value.ts"
import { failure } from "../../ports/run-failure.ts"
import { redactor } from "../../run/secrets/redact.ts"
import { askFor, RecordedRun } from "./recorded-run.ts"
import { readRecording, Recording, writeRecording } from "./recording.ts"

const request = { kind: "model", text: "Hi" }

test("an answer keeps its number where the asking before it failed", async () => {
  const recording = new Recording("record")
  await assert.rejects(recording.add("k", 0, request, () => Promise.reject(failure("timeout", "agent.a", "Too slow"))))
  await recording.add("k", 1, request, () => Promise.resolve({ text: "second" }))
  const exchanges = readRecording(writeRecording(recording.exchanges("used")))
  assert.deepEqual(exchanges?.["k"]?.answers, [null, { text: "second" }])
  const again = new Recording("record", exchanges ?? {})
  assert.deepEqual([again.answer("k", 0), again.answer("k", 1)], [undefined, { text: "second" }])
  await again.add("k", 0, request, () => Promise.resolve({ text: "first" }))
  assert.deepEqual(again.exchanges("used")["k"]?.answers, [{ text: "first" }, { text: "second" }])
})

test("nothing is kept of askings that all failed", async () => {
  const recording = new Recording("record")
  await assert.rejects(recording.add("k", 0, request, () => Promise.reject(failure("timeout", "agent.a", "Too slow"))))
  assert.deepEqual(recording.exchanges("all"), {})
  assert.equal(recording.changed, false)
})

test("runs that wait for the answer of a run that was ended ask themselves, once; a failure they share", async () => {
  const recording = new Recording("record")
  const ended = new AbortController()
  const { promise: cut, reject } = Promise.withResolvers<JsonValue>()
  let asked = 0
  const run = (signal: AbortSignal, ask: () => Promise<JsonValue>): Promise<JsonValue> =>
    new RecordedRun(recording, 0, redactor({})).exchange(
      "agent.a",
      request,
      "provider_error",
      () => askFor(signal, ask),
      {
        record: (answer) => answer,
        revive: (recorded) => recorded,
        settle: (answer) => answer,
      },
    )
  const alive = new AbortController().signal
  const own = (): Promise<JsonValue> => Promise.resolve({ asked: ++asked })
  const first = run(ended.signal, () => cut)
  const others = Promise.all([run(alive, own), run(alive, own)])
  ended.abort(new Error("The run ended"))
  // Clients may word the end of a run as a failure.
  reject(failure("provider_error", "agent.a", "The connection was lost"))
  await assert.rejects(first, /The run ended/)
  assert.deepEqual(await others, [{ asked: 1 }, { asked: 1 }])

  const failing = new Recording("record")
  const fail = (): Promise<JsonValue> => Promise.reject(failure("provider_error", "agent.a", `Busy ${++asked}`))
  const outcomes = await Promise.allSettled([0, 1].map(() => failing.add("k", 0, request, fail)))
  assert.deepEqual(
    outcomes.map((one) => one.status === "rejected" && (one.reason as Error).message),
    ["Busy 2", "Busy 2"],
  )
})
