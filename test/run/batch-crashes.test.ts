import assert from "node:assert/strict"
import { test } from "node:test"
import type { EventData } from "../../src/log/events.ts"
import type { ModelBatches } from "../../src/ports/model-batches.ts"
import { atStrength } from "../support/strength.ts"
import {
  BatchService,
  BatchVendorServer,
  batchSource,
  eventsOf,
  Mortal,
  sharedStore,
  tickets,
} from "../support/batch-world.ts"

// A process dies at each of its steps: before the store or the vendor has done it, or right after.

const count = 8
/** Steps of a run with one batch, and a few more than there are. */
const steps = 16

interface World {
  readonly kind?: string
  readonly plant?: (batches: ModelBatches) => ModelBatches
  readonly options?: Parameters<BatchService["begin"]>[2]
}

/** How often each item was bought that is never called directly, and how the run ended. */
async function afterDeath(step: number, doneAtDeath: boolean, { kind, plant, options }: World = {}) {
  const vendor = new BatchVendorServer()
  const source = batchSource(await vendor.start(), "", kind)
  const store = sharedStore()
  const first = new BatchService(store, new Mortal(step, doneAtDeath), plant)
  const second = new BatchService(store, undefined, plant)
  try {
    await first.runs.recover()
    const run_id = await first.begin(source, count, options)
    await second.runs.recover()
    const events = await eventsOf(store, run_id)
    assert.deepEqual([...first.bugs, ...second.bugs], [])
    const bought = tickets(count)
      .slice(1)
      .map((ticket) => vendor.bought.get(ticket) ?? 0)
    return { events, bought, end: events.at(-1) }
  } finally {
    await second.close()
    void first.close()
    await vendor.close()
  }
}

for (const kind of ["openai", "anthropic"]) {
  test(`each item is bought once, at whatever step the process dies: ${kind}`, async () => {
    const places = Array.from({ length: steps }, (_, step) => [step + 1, step + 1] as const).flat()
    const chosen = atStrength(places.slice(8, 16), places)
    for (const [index, step] of chosen.entries()) {
      const { bought, end } = await afterDeath(step, index % 2 === 1, { kind })
      assert.equal(end?.type, "workflow_completed", `${step} ${JSON.stringify(end?.data)}`)
      assert.deepEqual(new Set(bought), new Set([1]), `${step} ${index % 2}`)
    }
  })
}

test("limits count a batch once, at whatever step the process dies", async () => {
  for (const step of atStrength([9, 12], [6, 7, 8, 9, 10, 11, 12, 13])) {
    const { end, bought } = await afterDeath(step, true, { options: { limits: { tokens: 100_000 } } })
    assert.equal(end?.type, "workflow_completed", `${step} ${JSON.stringify(end?.data)}`)
    assert.deepEqual(new Set(bought), new Set([1]))
    const { usage, limits } = end.data as EventData["workflow_completed"]
    assert.equal(limits?.tokens?.used, usage.input_tokens + usage.output_tokens, `${step}`)
  }
})

/** What a service without one of the rules would do. */
const planted: Readonly<Record<string, (batches: ModelBatches) => ModelBatches>> = {
  "nobody looks for a batch that may have been sent": (batches) => ({
    ...batches,
    find: () => Promise.resolve("none"),
  }),
  "an unanswered request counts as not made": (batches) => ({
    ...batches,
    find: () => Promise.resolve("none"),
    submit: async (target, id, calls) => {
      const made = await batches.submit(target, id, calls)
      return made.outcome === "unknown" ? { outcome: "failed", answer: made.answer } : made
    },
  }),
}

for (const [bug, plant] of Object.entries(planted)) {
  test(`this finds the bug: ${bug}`, async () => {
    for (let step = 1; step <= steps; step++) {
      const { bought } = await afterDeath(step, true, { plant })
      if (bought.some((times) => times > 1)) return
    }
    assert.fail("No item was bought twice")
  })
}
