import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import type { RatePlan } from "../../plan/plan-shape.ts"
import type { Backend, PacedCall } from "../../ports/model.ts"
import { RateList, readRateList } from "./rate-list.ts"
import { Rates, type RateOptions, type RateReason } from "./rates.ts"

interface Wanted {
  readonly caller?: string
  readonly run?: string
  readonly workflow?: string | null
  readonly rate?: RatePlan | null
  readonly key?: string
  readonly endpoint?: string
  readonly tokens?: number
  readonly signal?: AbortSignal
}

function desk(options: RateOptions = {}) {
  const clock = new ManualClock()
  const rates = new Rates(clock, options)
  const admitted: string[] = []
  const events: RateReason[] = []
  const calls = new Map<string, PacedCall>()
  const ask = (name: string, wanted: Wanted = {}): void => {
    const { caller = "ann", run = "r", workflow = "w", rate = null, key = "k", tokens = 10 } = wanted
    const backend: Backend = {
      api: "responses",
      endpoint: wanted.endpoint ?? "https://a.example/v1",
      api_key: key,
      headers: {},
    }
    const call = rates.enter({
      caller,
      run_id: run,
      workflow,
      provider: { name: "p", kind: "openai", rate },
      backend,
      tokens: () => tokens,
      waits: (because) => events.push(because),
      signal: wanted.signal ?? new AbortController().signal,
    })
    const enter = (paced: PacedCall): void => {
      admitted.push(name)
      calls.set(name, paced)
    }
    if (call instanceof Promise) call.then(enter, () => admitted.push(`${name} left`))
    else enter(call)
  }
  const end = async (name: string, tokens: number | null = null): Promise<void> => {
    calls.get(name)?.ended(tokens, true)
    await turn()
  }
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await turn()
    await turn()
  }
  return { rates, admitted, events, ask, end, pass, calls }
}

test("without a rate nothing waits", () => {
  const { ask, admitted } = desk()
  for (let n = 0; n < 100; n++) ask(`c${n}`)
  assert.equal(admitted.length, 100)
})

test("so many requests in any 60 seconds", async () => {
  const { ask, admitted, pass, events } = desk()
  const rate = { requests_per_minute: 2 }
  ask("a", { rate })
  await pass(30_000)
  ask("b", { rate })
  ask("c", { rate })
  ask("d", { rate })
  assert.deepEqual(admitted, ["a", "b"])
  await pass(29_999)
  assert.deepEqual(admitted, ["a", "b"])
  assert.deepEqual(events, ["requests", "requests"], "an event for each wait of five seconds")
  await pass(1)
  assert.deepEqual(admitted, ["a", "b", "c"])
  await pass(30_000)
  assert.deepEqual(admitted, ["a", "b", "c", "d"])
})

test("less than one request a minute is one in a longer time", async () => {
  const { ask, admitted, pass } = desk()
  const rate = { requests_per_minute: 0.5 }
  ask("a", { rate })
  ask("b", { rate })
  await pass(119_999)
  assert.deepEqual(admitted, ["a"])
  await pass(1)
  assert.deepEqual(admitted, ["a", "b"])
})

test("calls at a time", async () => {
  const { ask, admitted, end } = desk()
  const rate = { concurrency: 1 }
  ask("a", { rate })
  ask("b", { rate })
  assert.deepEqual(admitted, ["a"])
  await end("a")
  assert.deepEqual(admitted, ["a", "b"])
})

test("tokens count as reserved, and are corrected by what is reported; a call that is larger than the rate goes alone", async () => {
  const { ask, admitted, end, pass } = desk()
  const rate = { tokens_per_minute: 100 }
  ask("a", { rate, tokens: 80 })
  ask("b", { rate, tokens: 50 })
  assert.deepEqual(admitted, ["a"])
  await end("a", 20)
  assert.deepEqual(admitted, ["a", "b"])
  ask("large", { rate, tokens: 500 })
  await pass(59_999)
  assert.deepEqual(admitted, ["a", "b"])
  await pass(1)
  assert.deepEqual(admitted, ["a", "b", "large"])
})

test("callers take turns, then runs: a run with many calls does not keep another from its one call", async () => {
  const { ask, admitted, end } = desk()
  const rate = { concurrency: 1 }
  ask("first", { rate })
  for (let n = 0; n < 5; n++) ask(`many${n}`, { rate, run: "many" })
  ask("other run", { rate, run: "other" })
  ask("bob", { rate, caller: "bob", run: "bobs" })
  for (let n = 0; n < 4; n++) await end(admitted.at(-1) ?? "")
  assert.deepEqual(admitted, ["first", "many0", "bob", "other run", "many1"])
})

test("a rate of a served file holds for everyone with the same credentials, that of sent source for its caller", async () => {
  const served = desk()
  served.ask("a", { rate: { concurrency: 1 } })
  served.ask("without a rate of its own", { caller: "bob", workflow: null })
  served.ask("another key", { key: "other" })
  assert.deepEqual(served.admitted, ["a", "another key"])

  const sent = desk()
  sent.ask("a", { rate: { concurrency: 1 }, workflow: null })
  sent.ask("of the same caller", { run: "other" })
  sent.ask("of another caller", { caller: "bob" })
  assert.deepEqual(sent.admitted, ["a", "of another caller"])
})

test("the smallest rate counts, and one that nobody states any more is forgotten", async () => {
  const { ask, admitted, end, pass } = desk()
  ask("a", { rate: { concurrency: 1 }, workflow: "small" })
  ask("b", { rate: { concurrency: 3 }, workflow: "large" })
  assert.deepEqual(admitted, ["a"])
  await end("a")
  await end("b")
  await pass(600_001)
  for (const name of ["c", "d"]) ask(name, { rate: { concurrency: 3 }, workflow: "large" })
  assert.deepEqual(admitted, ["a", "b", "c", "d"])
})

test("each process has its share of a rate, at least one call at a time", async () => {
  const { ask, admitted } = desk({ processes: () => 4 })
  const rate = { concurrency: 8 }
  for (const name of ["a", "b", "c"]) ask(name, { rate })
  assert.deepEqual(admitted, ["a", "b"])
  ask("d", { rate: { concurrency: 1 }, key: "other", workflow: "other" })
  assert.deepEqual(admitted, ["a", "b", "d"])
})

test("the operator's rates hold over all credentials; the longest beginning counts", async () => {
  const list = new RateList(
    new Map([
      ["https://a.example", { concurrency: 9 }],
      ["https://a.example/v1", { concurrency: 1 }],
    ]),
  )
  const { ask, admitted, end } = desk({ list })
  ask("a")
  ask("b", { key: "other", caller: "bob" })
  ask("elsewhere", { endpoint: "https://a.example.org/v1" })
  assert.deepEqual(admitted, ["a", "elsewhere"])
  await end("a")
  assert.deepEqual(admitted, ["a", "elsewhere", "b"])
})

test("a pause that the backend asks for holds back all its callers, for a minute at most", async () => {
  const { ask, admitted, calls, pass, events } = desk()
  ask("a")
  calls.get("a")?.holdBack(3_600_000)
  ask("b", { caller: "bob" })
  ask("another key", { key: "other" })
  await pass(59_999)
  assert.deepEqual(admitted, ["a", "another key"])
  assert.deepEqual(events, ["backend"])
  await pass(1)
  assert.deepEqual(admitted, ["a", "another key", "b"])
})

test("without its word the pause doubles with each refusal, and an answer begins anew", async () => {
  const { ask, admitted, calls, pass } = desk()
  for (const [name, pauseMs] of [
    ["a", 500],
    ["b", 1000],
    ["c", 2000],
  ] as const) {
    ask(name)
    calls.get(name)?.holdBack(null)
    calls.get(name)?.ended(null, false)
    ask(`after ${name}`)
    await pass(pauseMs - 1)
    assert.equal(admitted.at(-1), name)
    await pass(1)
    assert.equal(admitted.at(-1), `after ${name}`)
    // It went ahead alone, and was not refused.
    if (name !== "c") calls.get(`after ${name}`)?.ended(null, false)
  }
  calls.get("after c")?.ended(5, true)
  ask("d")
  calls.get("d")?.holdBack(null)
  ask("after d")
  await pass(500)
  assert.equal(admitted.at(-1), "after d")
})

test("calls that were under way together and are refused together are one refusal", async () => {
  const { ask, admitted, calls, pass } = desk()
  const burst = (name: string) => Array.from({ length: 20 }, (_, n) => `${name}${n}`)
  for (const [name, pauseMs] of [
    ["first", 500],
    ["second", 1000],
  ] as const) {
    for (const one of burst(name)) ask(one)
    await pass(10)
    for (const one of burst(name)) {
      calls.get(one)?.holdBack(null)
      calls.get(one)?.ended(null, false)
      await pass(1)
    }
    ask(`after ${name}`)
    // The pause began with the first refusal.
    await pass(pauseMs - 21)
    assert.equal(admitted.at(-1), `${name}19`)
    await pass(1)
    assert.equal(admitted.at(-1), `after ${name}`)
    // It fails for another reason: the next ones go together again, and nothing was answered.
    calls.get(`after ${name}`)?.ended(null, false)
  }
})

test("an answer to a call that was under way before a refusal says nothing about the time after it", async () => {
  const { ask, admitted, calls, end, pass } = desk()
  ask("early")
  await pass(10)
  ask("a")
  calls.get("a")?.holdBack(null)
  calls.get("a")?.ended(null, false)
  await end("early", 5)
  ask("b")
  await pass(499)
  assert.equal(admitted.at(-1), "a")
  await pass(1)
  calls.get("b")?.holdBack(null)
  ask("c")
  await pass(999)
  assert.equal(admitted.at(-1), "b")
  await pass(1)
  assert.equal(admitted.at(-1), "c")
})

test("after a pause one call goes ahead, and the others follow when it is not refused", async () => {
  const { ask, admitted, calls, end, pass } = desk()
  ask("first")
  calls.get("first")?.holdBack(null)
  calls.get("first")?.ended(null, false)
  for (let n = 0; n < 50; n++) ask(`c${n}`, { run: `r${n}` })
  await pass(500)
  assert.deepEqual(admitted, ["first", "c0"])
  calls.get("c0")?.holdBack(null)
  calls.get("c0")?.ended(null, false)
  await pass(999)
  assert.equal(admitted.length, 2)
  await pass(1)
  assert.deepEqual(admitted.slice(2), ["c1"])
  // It takes long: the next one goes after the same time.
  await pass(1_000)
  assert.deepEqual(admitted.slice(2), ["c1", "c2"])
  await end("c1", 5)
  assert.equal(admitted.length, 51)
  // Where the backend said how long to wait, the others follow after a second at most.
  calls.get("c5")?.holdBack(20_000)
  calls.get("c5")?.ended(null, false)
  // It was under way before.
  await end("c6", 5)
  for (let n = 0; n < 5; n++) ask(`d${n}`, { run: `r${n}` })
  await pass(19_999)
  assert.equal(admitted.length, 51)
  await pass(1)
  assert.equal(admitted.length, 52)
  await pass(1_000)
  assert.equal(admitted.length, 53)
  await end("d0", 5)
  assert.equal(admitted.length, 56)
  // An answer that says that nothing is left is no refusal: nobody goes ahead.
  await pass(10)
  calls.get("d1")?.holdBack(3_000)
  await end("d1", 5)
  for (let n = 0; n < 5; n++) ask(`e${n}`, { run: `r${n}` })
  await pass(2_999)
  assert.equal(admitted.length, 56)
  await pass(1)
  assert.equal(admitted.length, 61)
})

test("a run that stops leaves its place to the next", async () => {
  const { ask, admitted, end, rates } = desk()
  const rate = { concurrency: 1 }
  const stops = new AbortController()
  ask("a", { rate })
  ask("b", { rate, signal: stops.signal })
  ask("c", { rate, run: "other" })
  assert.deepEqual(rates.waiting(), [{ kind: "openai", host: "a.example", count: 2 }])
  stops.abort(new Error("stopped"))
  await turn()
  await end("a")
  assert.deepEqual(admitted, ["a", "b left", "c"])
  assert.deepEqual(rates.waiting(), [])
})

test("a file of rates is read strictly", () => {
  assert.ok(readRateList({ "https://a.example/v1": { requests_per_minute: 5 } }) instanceof RateList)
  const problems = [[], { a: {} }, { a: { rps: 1 } }, { a: { concurrency: 0 } }].map((value) => readRateList(value))
  assert.deepEqual(problems, [
    "must be an object with an entry for each endpoint",
    'has a wrong rate at "a": it must have one of requests_per_minute, tokens_per_minute, concurrency',
    'has a wrong rate at "a": "rps" is unknown; known are requests_per_minute, tokens_per_minute, concurrency',
    'has a wrong rate at "a": "concurrency" must be a number above 0',
  ])
})
