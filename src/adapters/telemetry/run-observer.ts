import type { LogEvent } from "../../log/events.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { AnsweredCall } from "../../ports/content.ts"
import type { ResponseFacts } from "../../ports/model.ts"
import type { TakenRun } from "../../run/context/taken-run.ts"

/** Hears what happens to the runs of this process. Must not throw. */
export interface RunObserver {
  /** This process works on the run from now on. */
  taken?(run: TakenRun): void
  /** The plan of the run, or of a file that it calls, is about to run here. */
  planned?(run_id: string, scope: string | null, plan: Plan): void
  /** A backend has said this of an answer. */
  responded?(run_id: string, call: AnsweredCall, response: ResponseFacts): void
  /** The run's turn has come, after it waited this long. */
  started?(run_id: string, queuedMs: number): void
  /** These events are stored. */
  appended(run_id: string, events: readonly LogEvent[]): void
  /** The run goes on elsewhere, or later. */
  left?(run_id: string): void
}
