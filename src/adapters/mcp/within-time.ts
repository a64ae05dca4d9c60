import { createContext, Script } from "node:vm"

const context = createContext(Object.create(null) as object)
const script = new Script("work()")

/**
 * Runs work that may take for ever (a hostile pattern, schemas that refer to each other) and ends it when its time is up:
 * then the result is undefined. Costs half a millisecond.
 */
export function withinTime<T>(ms: number, work: () => T): { readonly value: T } | undefined {
  const slot = context as { work?: (() => T) | undefined }
  slot.work = work
  try {
    return { value: script.runInContext(context, { timeout: ms }) as T }
  } catch (error) {
    // An error of the other context is none of this one's.
    if ((error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined
    throw error
  } finally {
    slot.work = undefined
  }
}
