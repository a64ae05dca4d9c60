import type { ModelRequest, ModelWatch } from "../../ports/model.ts"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import { memoryOf } from "../../base/memory-of.ts"

// A turn of the event loop for a large value, since many may come at once. Null for a small one, which waits for nothing.

/** To be awaited before each step of the work on an answer's text. */
export function turnForAnswer(text: string, watch: Pick<ModelWatch, "signal">): Promise<void> | null {
  return turnFor(text.length, watch)
}

/** To be awaited before a request is written: the steps of a run begin together. */
export function turnForRequest({ input }: ModelRequest, watch: Pick<ModelWatch, "signal">): Promise<void> | null {
  return turnFor(memoryOf(input), watch)
}

function turnFor(bytes: number, { signal }: Pick<ModelWatch, "signal">): Promise<void> | null {
  // The run may be cancelled meanwhile.
  return loopTurns.forLarge(bytes)?.then(() => signal.throwIfAborted()) ?? null
}
