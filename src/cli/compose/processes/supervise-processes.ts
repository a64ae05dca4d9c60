import { standardError, standardOutput } from "../../terminal/screen.ts"
import { stopSignal } from "../../terminal/stop-signal.ts"
import { openTrail, type Trail } from "../audit.ts"
import { banner } from "../banner.ts"
import { createLog } from "../log.ts"
import { StartRefusal } from "../open-store.ts"
import type { Settings } from "../settings.ts"
import { Supervisor } from "./supervisor.ts"

/** The parent of the processes of a service: serves nothing itself. Resolves to the exit code when all have ended. */
export async function superviseProcesses(settings: Settings): Promise<number> {
  if (settings.store === "memory") {
    standardError.print(
      "WIRE_STORE is memory, which only one process can have: set WIRE_PROCESSES to 1, or WIRE_STORE to sqlite or another store that processes share.",
    )
    return 2
  }
  const log = createLog(settings.logLevel, process.pid)
  let trail: Trail
  try {
    trail = openTrail(settings.auditFile, log)
  } catch (error) {
    if (!(error instanceof StartRefusal)) throw error
    standardError.print(error.message)
    return 1
  }
  const stop = stopSignal()
  const supervisor = new Supervisor(settings, log, (fields) => trail.append(fields))
  const stopped = stop.asked.then(async (signal) => {
    await supervisor.stop(signal)
    return 0
  })
  const started = await supervisor.start()
  if ("code" in started && !supervisor.isStopping) {
    stop.ignore()
    trail.close()
    return started.code
  }
  if ("listening" in started) standardOutput.print(banner(started.listening, settings))
  const code = await stopped
  trail.close()
  return code
}
