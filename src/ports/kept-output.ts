import { Buffer } from "node:buffer"
import type { LogEvent } from "../log/events.ts"
import type { KeptOutput, OutputKeeper } from "./trigger-store.ts"

/** A longer output is not kept. */
const maxKeptBytes = 64 * 1024

/** What a schedule remembers of a run that ends with this event; null for nothing. */
export function keptOutput(keeper: OutputKeeper | null | undefined, end: LogEvent): KeptOutput | null {
  if (!keeper || end.type !== "workflow_completed") return null
  const output = JSON.stringify(end.data.output.result)
  return { output: Buffer.byteLength(output) > maxKeptBytes ? null : output, due_at: keeper.due_at }
}
