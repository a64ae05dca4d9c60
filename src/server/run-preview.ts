import type { ListedRunAnswer } from "../api/runs.ts"
import type { ListedRun } from "../ports/run-list.ts"

type Preview = NonNullable<ListedRunAnswer["preview"]>

/** The latest moment that a date can be. */
const latestTime = 8_640_000_000_000_000

/** The input and the result of a run, each in one line. */
export function previewOf({ finished_at, preview, end }: ListedRun, retentionMs: number): Preview {
  const { steps = [], input = "", started_by = "request" } = preview ?? {}
  const expires_at =
    finished_at === null ? null : new Date(Math.min(finished_at + retentionMs, latestTime)).toISOString()
  return { steps, input, result: end?.output ?? end?.error?.message ?? null, started_by, expires_at }
}
