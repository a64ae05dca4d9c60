import { isoTime } from "../../base/iso-time.ts"
import type { Notice } from "../../ports/notices.ts"

/** The same for every attempt: receivers tell repeats by it. */
export function webhookId({ run_id, event_id }: Notice): string {
  return `msg_${run_id}_${event_id}`
}

/** The body of a notice: where to look, and no content of the run. */
export function noticeMessage({ run_id, caller, event, event_id, caused_at }: Notice): string {
  return JSON.stringify({
    type: noticeType({ event }),
    timestamp: isoTime(caused_at),
    data: { run_id, caller: caller === "" ? null : caller, status: event, last_event_id: event_id },
  })
}

export function noticeType({ event }: Pick<Notice, "event">): `run.${Notice["event"]}` {
  return `run.${event}`
}
