import type { SuiteContext, TestContext } from "node:test"
import { inspect } from "node:util"
import type { ServerLog } from "../../src/server/route-dependencies.ts"

const mostLines = 300

/** The log of a service that was started for a test or a suite. `printIfFailed` is for its `after` hook. */
export function logOfTest(): {
  readonly log: ServerLog
  readonly printIfFailed: (context: TestContext | SuiteContext) => void
} {
  const lines: string[] = []
  const write =
    (level: string) =>
    (about: Readonly<Record<string, unknown>>, message: string): void => {
      if (lines.length === mostLines) lines.shift()
      lines.push(`${level} ${message} ${inspect(about, { breakLength: Number.POSITIVE_INFINITY })}`)
    }
  return {
    log: { debug: () => undefined, info: write("info"), warn: write("warn"), error: write("error") },
    printIfFailed: (context) => {
      // Node's types do not know `passed` yet.
      if (("passed" in context && context.passed === true) || lines.length === 0) return
      console.error(`The service's log of "${context.name}":\n${lines.join("\n")}`)
    },
  }
}
