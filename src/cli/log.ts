import { pino } from "pino"
import type { ServerLog } from "../server/parts.ts"

/** JSON lines on standard error. Errors are told by type and stack, never with what they carry. */
export function createLog(level: string): ServerLog {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        err: (error: unknown) =>
          error instanceof Error
            ? { type: error.name, message: error.message, stack: error.stack }
            : { type: typeof error },
      },
    },
    pino.destination({ dest: 2, sync: false }),
  )
}
