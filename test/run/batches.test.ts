import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import type { LogEvent } from "../../src/log/events.ts"
import type { RunOptions } from "../../src/ports/store.ts"
import {
  BatchService,
  BatchVendorServer,
  batchSource,
  eventsOf,
  fastClock,
  sharedStore,
  textOf,
  tickets,
} from "../support/batch-world.ts"
import { dataOf, typesOf } from "../support/run-plan.ts"

interface Ran {
  readonly events: readonly LogEvent[]
  readonly vendor: BatchVendorServer
}

async function ran(
  t: TestContext,
  count: number,
  about: {
    readonly kind?: string
    readonly more?: string
    readonly options?: Partial<RunOptions>
    readonly fault?: BatchVendorServer["fault"]
    /** By how much the vendor's clock is ahead. */
    readonly aheadMs?: number
  } = {},
): Promise<Ran> {
  const vendor = new BatchVendorServer(undefined, about.aheadMs)
  if (about.fault !== undefined) vendor.fault = about.fault
  const endpoint = await vendor.start()
  const store = sharedStore()
  const service = new BatchService(store)
  t.after(async () => {
    await service.close()
    await vendor.close()
    assert.deepEqual(service.bugs, [])
  })
  await service.runs.recover()
  const run_id = await service.begin(batchSource(endpoint, about.more, about.kind), count, about.options)
  return { events: await eventsOf(store, run_id), vendor }
}

/** Each item was bought once, and the results are in the order of the items. */
function boughtOnce({ events, vendor }: Ran, count: number): void {
  assert.equal(events.at(-1)?.type, "workflow_completed", JSON.stringify(events.at(-1)))
  assert.deepEqual(
    tickets(count).map((ticket) => [ticket, vendor.bought.get(ticket)]),
    tickets(count).map((ticket) => [ticket, 1]),
  )
  assert.equal(dataOf(events, "agent_completed").length, count)
}

for (const kind of ["openai", "openai_chat", "anthropic"]) {
  test(`a loop is one batch at half the price, and the first item is called directly to learn the format: ${kind}`, async (t) => {
    const outcome = await ran(t, 12, { kind })
    boughtOnce(outcome, 12)
    const { events, vendor } = outcome
    const [submitted] = dataOf(events, "batch_submitted")
    assert.equal(submitted?.items, 11)
    const completed = dataOf(events, "agent_completed")
    const batched = completed.filter(({ calls }) => calls[0]?.batch === submitted?.batch)
    assert.equal(batched.length, 11)
    for (const { usage, calls } of completed) {
      const factor = calls[0]?.batch === undefined ? 1 : 0.5
      assert.equal(usage.cost, Math.round((usage.input_tokens + usage.output_tokens * 2) * factor) / 1e6)
    }
    assert.deepEqual(dataOf(events, "run_waiting"), [{ questions: [], batches: [submitted?.batch], waits: [] }])
    assert.deepEqual(dataOf(events, "run_continued"), [{ questions: [], batches: [submitted?.batch], waits: [] }])
    assert.equal(vendor.count("DELETE", /./), kind === "anthropic" ? 1 : 2)
  })
}

test("fewer than five are called directly", async (t) => {
  const outcome = await ran(t, 5)
  boughtOnce(outcome, 5)
  assert.deepEqual(dataOf(outcome.events, "batch_left"), [{ agent: "label", items: 4, reason: "few" }])
})

test("a backend without batches is called directly", async (t) => {
  const outcome = await ran(t, 8, {
    fault: ({ path }) =>
      /files|batches/.test(path) ? Promise.resolve({ status: 404, headers: {}, body: "{}" }) : null,
  })
  boughtOnce(outcome, 8)
  assert.deepEqual(dataOf(outcome.events, "batch_left"), [{ agent: "label", items: 7, reason: "refused" }])
})

test("a batch whose making was not answered is looked for, and not made again", async (t) => {
  for (const kind of ["openai", "anthropic"]) {
    let made = 0
    const outcome = await ran(t, 8, {
      kind,
      fault: ({ method, path }, reply) =>
        method === "POST" && path.endsWith("batches") && made++ === 0 ? reply().then(() => "hang up") : null,
    })
    boughtOnce(outcome, 8)
    assert.equal(made, 1)
  }
})

for (const kind of ["openai", "anthropic"]) {
  for (const [aheadMs, headers] of [
    [-7_200_000, {}],
    [7_200_000, {}],
    // A gateway knows the time.
    [-7_200_000, { date: new Date(fastClock.now()).toUTCString() }],
  ] as const) {
    test(`the clock of a vendor may be wrong: ${kind} ${aheadMs} ${JSON.stringify(headers)}`, async (t) => {
      let made = 0
      const outcome = await ran(t, 8, {
        kind,
        aheadMs,
        fault: ({ method, path }, reply) =>
          method === "POST" && path.endsWith("batches") && made++ === 0
            ? reply().then(() => "hang up")
            : reply().then((made) => ({ ...made, headers: { ...made.headers, ...headers } })),
      })
      boughtOnce(outcome, 8)
      assert.equal(made, 1)
    })
  }

  test(`a vendor that has no room for a batch is asked again: ${kind}`, async (t) => {
    let refused = 0
    const busy = { error: { type: "rate_limit_error", message: "Too many." } }
    const outcome = await ran(t, 8, {
      kind,
      // One answer in two says how long to wait.
      fault: ({ method, path }) => {
        if (method !== "POST" || !/files$|batches$/.test(path) || refused >= 4) return null
        const headers = refused++ % 2 === 0 ? {} : { "retry-after": "60" }
        return Promise.resolve({ status: 429, headers, body: JSON.stringify(busy) })
      },
    })
    boughtOnce(outcome, 8)
    const { events } = outcome
    assert.equal(refused, 4)
    assert.deepEqual(
      typesOf(events).filter((type) => type === "agent_retried" || type === "batch_left"),
      [],
    )
    assert.equal(dataOf(events, "batch_submitted").length, 1)
  })
}

test("a key without a quota for batches fails as for direct calls", async (t) => {
  const error = { code: "insufficient_quota", message: "You exceeded your current quota." }
  const { events } = await ran(t, 8, {
    fault: ({ method, path }) =>
      method === "POST" && path.endsWith("files")
        ? Promise.resolve({ status: 429, headers: {}, body: JSON.stringify({ error }) })
        : null,
  })
  const last = events.at(-1)
  assert.ok(last?.type === "workflow_failed")
  assert.match(last.data.error.message, /insufficient_quota/)
})

test("items that fail at the vendor are sent again, in a batch of their own", async (t) => {
  let results = 0
  const outcome = await ran(t, 12, {
    more: "",
    fault: ({ path }, reply) =>
      path.endsWith("content") && results++ === 0
        ? reply().then(({ body, ...rest }) => {
            const lines = textOf({ ...rest, body })
              .trim()
              .split("\n")
            const failed = lines.slice(0, 6).map((line) => {
              const error = { code: "batch_expired", message: "Too late." }
              return JSON.stringify({ ...(JSON.parse(line) as object), response: null, error })
            })
            // In another order, and two of them twice.
            return { ...rest, body: [...lines.slice(6).toReversed(), ...lines.slice(9), ...failed].join("\n") }
          })
        : null,
  })
  const { events } = outcome
  assert.equal(events.at(-1)?.type, "workflow_completed")
  assert.deepEqual(
    dataOf(events, "batch_submitted").map(({ items }) => items),
    [11, 6],
  )
  assert.equal(dataOf(events, "agent_retried").length, 6)
})

test("answers that do not fit are sent back in the next batch, with what was wrong", async (t) => {
  let results = 0
  const outcome = await ran(t, 12, {
    fault: ({ path }, reply) =>
      path.endsWith("content") && results++ === 0
        ? reply().then((made) => {
            const lines = textOf(made).split("\n")
            const wrong = (line: string, at: number): string =>
              at < 6 ? line.replaceAll(/billing|product/g, "nonsense") : line
            return { ...made, body: lines.map(wrong).join("\n") }
          })
        : null,
  })
  const { events } = outcome
  assert.equal(events.at(-1)?.type, "workflow_completed")
  const submitted = dataOf(events, "batch_submitted")
  assert.deepEqual(
    submitted.map(({ items }) => items),
    [11, 6],
  )
  const again = dataOf(events, "agent_completed").filter(({ calls }) => calls.length === 2)
  assert.equal(again.length, 6)
  for (const { calls } of again) {
    assert.deepEqual(
      calls.map(({ batch }) => batch),
      submitted.map(({ batch }) => batch),
    )
  }
  assert.match(JSON.stringify(dataOf(events, "agent_retried")[0]), /nonsense/)
})

test("items that have no room in the limits wait for what a batch gives back", async (t) => {
  const { events, vendor } = await ran(t, 9, { options: { limits: { tokens: 60_000 } } })
  assert.equal(events.at(-1)?.type, "workflow_completed")
  assert.deepEqual(
    dataOf(events, "batch_submitted").map(({ items }) => items),
    [7],
  )
  assert.deepEqual(dataOf(events, "batch_left"), [{ agent: "label", items: 1, reason: "few" }])
  assert.equal(vendor.bought.size, 9)
})

test("a run that is cancelled tells the vendor", async (t) => {
  const vendor = new BatchVendorServer(100_000)
  const store = sharedStore()
  const service = new BatchService(store)
  t.after(async () => {
    await service.close()
    await vendor.close()
  })
  await service.runs.recover()
  const run_id = await service.begin(batchSource(await vendor.start()), 8)
  for await (const event of store.follow(run_id, 0, AbortSignal.timeout(30_000))) {
    if (event.type === "run_waiting") await service.runs.cancel(run_id)
    if (event.type === "workflow_cancelled") break
  }
  assert.equal(vendor.count("POST", /cancel$/), 1)
})

test("events of a batch come in their order", async (t) => {
  const { events } = await ran(t, 6)
  const types = typesOf(events).filter((type) => /^batch_|^run_/.test(type))
  assert.deepEqual(types, ["batch_prepared", "batch_submitted", "run_waiting", "run_continued"])
})
