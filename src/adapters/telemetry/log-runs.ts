import type { EventData, LogEvent, Usage, WireError } from "../../log/events.ts"
import type { TakenRun } from "../../run/context/taken-run.ts"
import type { RunObserver } from "./run-observer.ts"

/** Where the lines go. */
export interface RunsLog {
  info(about: Readonly<Record<string, unknown>>, message: string): void
  warn(about: Readonly<Record<string, unknown>>, message: string): void
}

/** One line for each thing of a run that an operator may have to explain later. Lines hold names and figures, never content. */
export function logRuns(log: RunsLog): RunObserver {
  const taken = new Map<string, TakenRun>()
  /** Resumed by this process: it says so once in the log, and again at the end. */
  const resumed = new Set<string>()
  const forget = (run_id: string): void => {
    taken.delete(run_id)
    resumed.delete(run_id)
  }
  const about = (run_id: string): Record<string, unknown> => {
    const run = taken.get(run_id)
    if (run === undefined) return { run_id }
    const { caller, workflow } = run
    return {
      run_id,
      ...(workflow !== null && { workflow: workflow.name, version: workflow.version }),
      ...(caller !== "" && { caller }),
    }
  }
  const ended = (
    run_id: string,
    status: "completed" | "failed" | "cancelled",
    data: { readonly duration_ms: number; readonly usage?: Usage },
    error: WireError | null,
  ): void => {
    const line = {
      ...about(run_id),
      status,
      ...(error !== null && { error: errorFacts(error) }),
      duration_ms: data.duration_ms,
      ...(data.usage !== undefined && { usage: data.usage }),
      resumed: resumed.has(run_id),
    }
    log[status === "failed" ? "warn" : "info"](line, "run ended")
    forget(run_id)
  }
  const appended = (run_id: string, event: LogEvent): void => {
    switch (event.type) {
      case "run_resumed":
        resumed.add(run_id)
        log.info({ ...about(run_id), reason: event.data.reason }, "run resumed")
        break
      case "run_waiting":
        log.info({ ...about(run_id), ...countsOf(event.data) }, "run waits")
        forget(run_id)
        break
      case "run_continued":
        log.info({ ...about(run_id), ...countsOf(event.data) }, "run continues")
        break
      case "agent_fallback": {
        const { agent, iteration, from, to, error } = event.data
        log.warn({ ...about(run_id), agent, iteration, from, to, error: errorFacts(error) }, "agent falls back")
        break
      }
      case "agent_failed": {
        const { agent, iteration, calls, error } = event.data
        const attempts = Math.max(0, ...calls.map(({ attempt }) => attempt))
        if (attempts < 2) break
        log.warn(
          { ...about(run_id), agent, iteration, attempts, error: errorFacts(error) },
          "agent failed after retries",
        )
        break
      }
      case "workflow_completed":
        ended(run_id, "completed", event.data, null)
        break
      case "workflow_failed":
        ended(run_id, "failed", event.data, event.data.error)
        break
      case "workflow_cancelled":
        ended(run_id, "cancelled", event.data, null)
        break
      default:
        break
    }
  }
  return {
    taken: (run) => void taken.set(run.run_id, run),
    appended(run_id, events) {
      for (const event of events) appended(run_id, event)
    },
    left: forget,
  }
}

/** How many of what a run waits for, or was woken by. */
function countsOf({ questions, batches, waits, budget }: Parked): Readonly<Record<string, number | string>> {
  const path = typeof budget === "string" ? budget : budget?.path
  return {
    questions: questions.length,
    ...(batches.length > 0 && { batches: batches.length }),
    ...(waits.length > 0 && { waits: waits.length }),
    ...(path !== undefined && { budget: path }),
  }
}

type Parked = EventData["run_waiting" | "run_continued"]

/** Only the declaration (`agent.review`): the rest of the path may contain keys of a user's data. */
function errorFacts({ kind, issues }: WireError): { kind: string; path: string; upstream_status?: number } {
  const [first] = issues
  const path = /^\w+(?:\.\w+)?/.exec(first?.path ?? "")?.[0] ?? ""
  return { kind, path, ...(first?.upstream_status !== undefined && { upstream_status: first.upstream_status }) }
}
