import about from "../../../package.json" with { type: "json" }
import { mayWait } from "../../plan/may-wait.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { WireError } from "../../ports/events.ts"
import { wireError } from "../../ports/run-failure.ts"

/**
 * The form of what logs keep for a continuation: the names of call sites, and what `Kept` holds. It counts up when an older release
 * could no longer go on from a log, and from then on this release must still read the older forms (`test/histories/`).
 *
 * 1: release 0.1, whose logs do not say so. 2: call sites are named by place, kind and target; messages are provider-neutral.
 * 3: questions to people, and steps that a re-run took over; logs with neither stay in form 2.
 */
const version = 3

/** Kept by the events with which a process begins to write to a log. */
export interface LogWriter {
  readonly log: number
  /** The release, for people. */
  readonly engine: string
}

const engine = about.version

/** The writer of the log of a run of this plan; null where no work is done. */
export function writerFor(plan: Plan | null, rerun = false): LogWriter {
  return { log: plan !== null && (rerun || mayWait(plan)) ? version : 2, engine }
}

/** For a log that does not name its writer. */
export const firstWriter: LogWriter = { log: 1, engine: "0.1" }

/** Why this release cannot go on from a log of that writer; null when it can. */
export function whyNotResumable({ log, engine }: LogWriter): WireError | null {
  if (log <= version) return null
  const message =
    `Wireworks ${about.version} cannot take up this run: Wireworks ${engine} wrote its log, in a newer form (${log}, and this ` +
    `release reads up to ${version}). To go on from it could repeat what has been done.`
  return wireError("internal_error", [{ path: "", message }])
}
