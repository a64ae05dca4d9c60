import type { ModelRequest, ModelWatch } from "../../ports/model.ts"
import { isLarge, loopTurns } from "../../event-loop/loop-turns.ts"
import type { Arrival } from "../../ports/egress.ts"
import { memoryOf } from "../../base/memory-of.ts"

// A turn of the event loop for a large value, since many may come at once. Null for a small one, which waits for nothing.

type Turning = Pick<ModelWatch, "signal" | "arrival">

/** To be awaited before each step of the work on an answer's text. */
export function turnForAnswer(text: string, watch: Turning): Promise<void> | null {
  return turnFor(text.length, watch)
}

/** To be awaited before a request is written: the steps of a run begin together. */
export function turnForRequest({ input }: ModelRequest, watch: Turning): Promise<void> | null {
  return turnFor(memoryOf(input), watch)
}

/** Bytes of memory that a value takes for each byte of its JSON, about. */
const memoryPerByte = 3

/** To be awaited before JSON of this many bytes is parsed: there must be memory for the value beside its text. */
export async function turnToParse(bytes: number, arrival: Arrival | undefined, signal?: AbortSignal): Promise<void> {
  if (!isLarge(bytes)) return
  const room = arrival?.add(memoryPerByte * bytes)
  if (room) await room
  const turn = loopTurns.spend(bytes, arrival?.caller)
  await (arrival?.waited.during(turn) ?? turn)
  signal?.throwIfAborted()
}

function turnFor(bytes: number, { signal, arrival }: Turning): Promise<void> | null {
  // The run may be cancelled meanwhile.
  return loopTurns.forLarge(bytes, arrival?.caller)?.then(() => signal.throwIfAborted()) ?? null
}
