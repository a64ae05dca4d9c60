import { placeKey, type ReplayState } from "../../log/replay-state.ts"
import type { RunContext } from "../context/run-context.ts"
import { batchContexts } from "./batch-contexts.ts"
import { targetOf } from "./open-batch.ts"

/** How long to try, and how long the end of the run waits for it. */
const tryMs = 30_000
const pauseMs = 3_000
const endWaitsMs = 1_000

/** The run ends early: its vendors are told to stop its batches. The end of the run does not wait until they have. */
export async function cancelBatches(running: RunContext): Promise<void> {
  const { clock } = running.ports
  const told = openBatches(running).map((one) => cancelOne(one))
  if (told.length === 0) return
  const stop = new AbortController()
  await Promise.race([Promise.all(told), clock.sleep(endWaitsMs, stop.signal).catch(() => undefined)])
  stop.abort()
}

interface AtVendor {
  readonly running: RunContext
  readonly model: string
  readonly providerId: string
}

/** Those of agents that have begun in this process, and those of the log where they have not. */
function openBatches(running: RunContext): AtVendor[] {
  const found: AtVendor[] = []
  const begun = new Set<string>()
  for (const { running: own, agent, lane } of running.shared.lanes) {
    begun.add(`${own.scope ?? ""}/${agent}`)
    for (const { model, providerId } of lane.open)
      if (providerId !== null) found.push({ running: own, model, providerId })
  }
  for (const own of batchContexts(running)) {
    for (const [id, { model, agent, providerId }] of own.past.batches) {
      if (providerId === null || begun.has(`${own.scope ?? ""}/${agent}`) || !isOpen(own.past, id)) continue
      found.push({ running: own, model, providerId })
    }
  }
  return found
}

function isOpen({ batches, inBatch }: ReplayState, id: string): boolean {
  const { agent = "", items = [] } = batches.get(id) ?? {}
  return items.some(({ iteration }) => inBatch.get(placeKey(agent, iteration)) === id)
}

async function cancelOne({ running, model, providerId }: AtVendor): Promise<void> {
  const { batches, clock } = running.ports
  if (batches === undefined) return
  const stop = new AbortController()
  const end = clock.monotonic() + tryMs
  // The run may be over: its lease does not count.
  const target = { ...targetOf(running, model, stop.signal), gate: () => null }
  void clock.sleep(tryMs, stop.signal).then(
    () => stop.abort(),
    () => undefined,
  )
  try {
    while (clock.monotonic() < end) {
      try {
        return await batches.cancel(target, providerId)
      } catch {
        await clock.sleep(pauseMs, stop.signal)
      }
    }
  } catch {
    // Its time is over.
  } finally {
    stop.abort()
  }
}
