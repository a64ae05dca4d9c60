import { isoTime } from "../base/iso-time.ts"
import { LeaseLost, type Damaged, type Lease } from "../ports/store.ts"
import type { LogEvent } from "../log/events.ts"
import { wireError } from "../ports/run-failure.ts"
import type { RunPorts } from "./context/run-context.ts"

const damagedError = wireError("internal_error", [
  { path: "", message: "Stored data of this run is damaged, so the run could not continue" },
])

/** Ends a run with damaged data: no process could ever continue it. */
export async function failRunAsCorrupt(lease: Lease, damage: Damaged, ports: RunPorts): Promise<LogEvent | null> {
  const { store, clock } = ports
  const { run_id } = lease
  const found = await store.lookup(run_id)
  if (found.found !== "run") return null
  const { created_at, last_event_id } = found.run
  const now = Math.max(clock.now(), created_at)
  const at = isoTime(now)
  const data = { error: damagedError, duration_ms: now - created_at, at }
  const end: LogEvent = { id: last_event_id + 1, type: "workflow_failed", at, data }
  try {
    await store.failAsCorrupt(lease, end)
  } catch (error) {
    if (error instanceof LeaseLost) return null
    throw error
  }
  ports.note?.(run_id, `The run failed because its stored data is damaged: ${damage.message}`, "error")
  return end
}
