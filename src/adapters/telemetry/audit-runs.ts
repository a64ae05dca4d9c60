import type { LogEvent } from "../../log/events.ts"
import type { Audit } from "../../ports/audit.ts"
import type { TakenRun } from "../../run/context/taken-run.ts"
import type { RunObserver } from "./run-observer.ts"

/** Accounts for each run that starts, once its start is stored. */
export function auditRuns(audit: Audit): RunObserver {
  /** Runs of this process whose first events are not stored yet. */
  const taken = new Map<string, TakenRun>()
  return {
    taken: (run) => void taken.set(run.run_id, run),
    appended(run_id: string, events: readonly LogEvent[]) {
      const run = taken.get(run_id)
      if (run === undefined) return
      taken.delete(run_id)
      const [first] = events
      if (first?.type !== "workflow_started") return
      const { rerun_of } = first.data
      const { caller, workflow } = run
      audit({
        act: "started",
        run_id,
        caller,
        ...(workflow !== null && { workflow: workflow.name }),
        ...(rerun_of !== undefined && { rerun_of }),
      })
    },
    left: (run_id) => void taken.delete(run_id),
  }
}
