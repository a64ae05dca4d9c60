import type { ModelWatch } from "../../ports/model.ts"
import { loopTurns } from "../../run/loop-turns.ts"

/** To be awaited before each step of the work on an answer's text: many large answers may come at once. Null for a small one. */
export function turnForAnswer(text: string, { signal }: Pick<ModelWatch, "signal">): Promise<void> | null {
  // The run may be cancelled meanwhile.
  return loopTurns.forLarge(text.length)?.then(() => signal.throwIfAborted()) ?? null
}
