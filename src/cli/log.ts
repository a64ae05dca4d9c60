import { aboutError } from "../base/about-error.ts"
import { isoTime } from "../base/iso-time.ts"
import { StoreFailure } from "../ports/store.ts"
import type { ServerLog } from "../server/route-dependencies.ts"
import { LineWriter } from "./line-writer.ts"

/** The least severe first. */
const levels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"]

/** JSON lines on standard error. Of an error the type, the code and the stack are logged, without its message. */
export function createLog(least: string, writer = new LineWriter(2)): ServerLog {
  const from = levels.indexOf(least)
  const logs = (level: string): ((about: Readonly<Record<string, unknown>>, message: string) => void) => {
    if (levels.indexOf(level) < from) return () => undefined
    return (about, message) => writer.add(lineOf(level, about, message))
  }
  const error = logs("error")
  return {
    info: logs("info"),
    warn: logs("warn"),
    error(about, message) {
      error(about, message)
      writer.flush()
    },
  }
}

function lineOf(level: string, about: Readonly<Record<string, unknown>>, message: string): string {
  const facts = JSON.stringify("err" in about ? { ...about, err: errorFacts(about["err"]) } : about)
  const more = facts === "{}" ? "" : `${facts.slice(1, -1)},`
  return `{"level":"${level}","time":"${isoTime(Date.now())}",${more}"msg":${JSON.stringify(message)}}\n`
}

function errorFacts(error: unknown): unknown {
  // Only a store's message is known to be a sentence of ours.
  return error instanceof StoreFailure ? { message: error.message, ...aboutError(error) } : aboutError(error)
}
