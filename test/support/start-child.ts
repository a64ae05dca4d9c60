import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { within } from "./within.ts"

/** On a busy machine a process may take long to start. */
const patienceMs = 120_000

export interface Child {
  readonly process: ChildProcessWithoutNullStreams
  /** What it has printed so far, and will. */
  readonly lines: readonly string[]
  /** How it stands, for the message of a failure. */
  state(): string
  /** Resolves when it has printed so many lines. */
  printed(count: number): Promise<void>
  /** Its exit code (null: killed), and what it wrote to standard error. */
  ended(): Promise<{ code: number | null; errors: string }>
}

/** Runs a TypeScript file as a process of its own, possibly by way of another program. */
export function startChild(file: string, args: readonly string[], by: readonly string[] = []): Child {
  const [command = process.execPath, ...rest] = [...by, process.execPath, file, ...args]
  const child = spawn(command, rest, { stdio: "pipe" })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const output = createInterface(child.stdout)
  output.on("line", (line) => {
    lines.push(line)
    for (const look of waiting) look()
  })
  let errors = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text))
  const gone = Promise.all([once(child, "close"), once(output, "close")])
  return {
    process: child,
    lines,
    state: () => `child: exit ${child.exitCode}, signal ${child.signalCode}, ${lines.length} lines, ${errors}`,
    printed(count) {
      const enough = new Promise<void>((resolve, reject) => {
        const look = () => {
          if (lines.length < count) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
        void gone.then(() => reject(new Error(`It ended after ${lines.length} lines: ${errors}`)))
      })
      return within(patienceMs, `line ${count}`, enough)
    },
    async ended() {
      await within(patienceMs, "the child's end", gone)
      return { code: child.exitCode, errors }
    },
  }
}
