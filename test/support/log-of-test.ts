import { afterEach, type SuiteContext, type TestContext } from "node:test"
import { inspect } from "node:util"
import type { ServerLog } from "../../src/server/route-dependencies.ts"

const maxLines = 300

interface Line {
  readonly level: string
  readonly message: string
  readonly about: Readonly<Record<string, unknown>>
}

/** The log of a service that was started for a test or a suite. `printIfFailed` is for its `after` hook. */
export function logOfTest(): {
  readonly log: ServerLog
  readonly printIfFailed: (context: TestContext | SuiteContext) => void
} {
  const lines: Line[] = []
  let hasFailed = false
  afterEach((context) => {
    if (isFailed(context)) hasFailed = true
  })
  const write =
    (level: string) =>
    (about: Readonly<Record<string, unknown>>, message: string): void => {
      if (lines.length === maxLines) lines.shift()
      lines.push({ level, message, about })
    }
  return {
    log: { debug: () => undefined, info: write("info"), warn: write("warn"), error: write("error") },
    printIfFailed: (context) => {
      if (isFailed(context)) hasFailed = true
      if (!hasFailed || lines.length === 0) return
      const text = lines.map(
        ({ level, message, about }) =>
          `${level} ${message} ${inspect(about, { breakLength: Number.POSITIVE_INFINITY })}`,
      )
      console.error(`The service's log of "${context.name}":\n${text.join("\n")}`)
    },
  }
}

/** Whether it is a test that has failed: the context of a suite says of every suite that it has not passed. */
function isFailed(context: TestContext | SuiteContext): boolean {
  // Node's types do not know `passed` yet.
  return "plan" in context && "passed" in context && context.passed !== true
}
