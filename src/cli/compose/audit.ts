import { AuditFile, WrongAuditFile } from "../../adapters/audit/audit-file.ts"
import { verifyAudit } from "../../adapters/audit/verify-audit.ts"
import { isoTime } from "../../base/iso-time.ts"
import type { Audit } from "../../ports/audit.ts"
import type { ServerLog } from "../../server/route-dependencies.ts"
import { StartRefusal } from "./open-store.ts"

export { verifyAudit }

/** A file that cannot be written is reported this often. */
const reportEveryMs = 60_000

/** The file of an audit trail. A line that cannot be written is reported in the log. */
export interface Trail {
  append(fields: object): void
  close(): void
}

/** Throws a `StartRefusal` for a file that cannot be written. Without a path, there is no file. */
export function openTrail(path: string | undefined, log: ServerLog): Trail {
  if (path === undefined) return { append: () => undefined, close: () => undefined }
  let reportedAt = -Infinity
  const report = (error: unknown): void => {
    const now = performance.now()
    if (now - reportedAt < reportEveryMs) return
    reportedAt = now
    const reason = error instanceof WrongAuditFile ? error.message : undefined
    log.error({ err: error, ...(reason !== undefined && { reason }) }, "the audit file cannot be written")
  }
  const file = openFile(path, report)
  if (file.wasCut) {
    log.warn({}, "the last line of the audit file was cut and has been removed; the next line notes it")
  }
  return {
    append(fields) {
      try {
        file.append(fields)
      } catch (error) {
        report(error)
      }
    },
    close: () => file.close(),
  }
}

/** The audit trail: lines of the log, and of the file. */
export function auditTo(trail: Pick<Trail, "append">, log: ServerLog): Audit {
  return ({ act, run_id, caller, ...more }) => {
    const fields = { act, run_id, caller: caller === "" ? null : caller, at: isoTime(Date.now()), ...more }
    log.info({ audit: true, ...fields }, "audit")
    trail.append(fields)
  }
}

function openFile(path: string, report: (error: unknown) => void): AuditFile {
  try {
    return new AuditFile(path, report)
  } catch (error) {
    if (!(error instanceof WrongAuditFile)) throw error
    throw new StartRefusal(`WIRE_AUDIT_FILE is "${path}": ${error.message}.`)
  }
}
