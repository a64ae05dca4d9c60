import { pino } from "pino"
import { isoTime } from "../base/iso-time.ts"
import type { ServerLog } from "../server/parts.ts"

/** How long a line may wait for others to be written with. */
const gatherMs = 200

/** JSON lines on standard error. Errors are told by type and stack, never with what they carry. */
export function createLog(level: string): ServerLog {
  // Lines are written together: a write of its own for each run costs more than all of its events. At the end pino itself
  // writes what is left.
  const destination = pino.destination({ dest: 2, sync: false, minLength: 4096, periodicFlush: gatherMs })
  const log = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        err: (error: unknown) =>
          error instanceof Error
            ? { type: error.name, message: error.message, stack: error.stack }
            : { type: typeof error },
      },
    },
    destination,
  )
  return {
    info: (about, message) => log.info(about, message),
    error(about, message) {
      log.error(about, message)
      destination.flush()
    },
  }
}
