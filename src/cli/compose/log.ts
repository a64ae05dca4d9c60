import { visibleInJson } from "../../base/visible-text.ts"
import { pino } from "pino"
import { aboutError } from "../../base/about-error.ts"
import { isoTime } from "../../base/iso-time.ts"
import { StoreFailure } from "../../ports/store.ts"
import type { ServerLog } from "../../server/route-dependencies.ts"
import { LogLines } from "./log-lines.ts"

/**
 * JSON lines on standard error. Of an error the type, the code and the stack are logged, without its message. `pid`: each line has it, where the
 * lines of several processes go to one place.
 */
export function createLog(level: string, pid: number | null = null): ServerLog {
  // Lines are written together: a write of its own for each run costs more than all of its events.
  const destination = new LogLines(2)
  const log = pino(
    {
      level,
      base: pid === null ? null : { pid },
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      // JSON leaves what turns or hides text as it is.
      hooks: { streamWrite: visibleInJson },
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        err: (error: unknown) =>
          // Only a store's message is known to be a sentence of ours.
          error instanceof StoreFailure ? { message: error.message, ...aboutError(error) } : aboutError(error),
      },
    },
    destination,
  )
  return {
    debug: (about, message) => log.debug(about, message),
    info: (about, message) => log.info(about, message),
    warn: (about, message) => log.warn(about, message),
    error(about, message) {
      log.error(about, message)
      destination.flush()
    },
  }
}
