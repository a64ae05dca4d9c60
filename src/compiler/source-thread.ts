import { parentPort } from "node:worker_threads"
import type { JsonValue } from "../base/json-value.ts"
import { separatePlans } from "../plan/plans-in.ts"
import { toPieces } from "./json-pieces.ts"
import { followOrigins } from "./follow-origins.ts"
import { codeOf, describeSource, formatSource, planSource, validateSource, type SourceJob } from "./source-jobs.ts"

// The entry point of the thread that works on large sources: a megabyte takes seconds, and the service's own thread has to
// answer others meanwhile.

export type FromSourceThread =
  | { readonly pieces: readonly string[] }
  /** JSON of the job's result. */
  | { readonly text: string }
  /** A bug: where it was, never what the message says, which may quote the source. */
  | { readonly bug: string }

const port = parentPort
if (port === null) throw new Error("This is a worker thread's entry point")

function resultOf(job: SourceJob): object {
  switch (job.kind) {
    case "plan":
      return planSource(job)
    case "format":
      return formatSource(job.source)
    case "describe":
      return describeSource(job)
    case "code":
      return codeOf(job)
    case "validate":
      return validateSource(job)
    case "origins":
      return followOrigins(job)
  }
}

port.on("message", (job: SourceJob) => {
  try {
    const planned = job.kind === "plan" ? planSource(job) : null
    if (planned !== null && "plan" in planned) {
      const message: FromSourceThread = { pieces: toPieces(separatePlans(planned.plan) as unknown as JsonValue) }
      port.postMessage(message)
      return
    }
    const result = planned ?? resultOf(job)
    const message: FromSourceThread = { text: JSON.stringify(result) }
    port.postMessage(message)
  } catch (error) {
    const stack = error instanceof Error ? (error.stack ?? "") : ""
    const message: FromSourceThread = { bug: stack.slice(stack.indexOf("\n    at ")) }
    port.postMessage(message)
  }
})
