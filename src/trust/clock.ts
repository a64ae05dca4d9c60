import { remembered } from "../base/remembered.ts"
import type { Program } from "../check/program.ts"
import { propertyOf } from "../syntax/property-of.ts"

// A wait for a time says when it ended. So what the waits before it were told shows in its value.

const known = new WeakMap<Program, boolean>()

/** Whether a value in a file, or in one that it calls, says what time it is. */
export function tellsTime(program: Program): boolean {
  return remembered(known, program, () => {
    const own = [...program.waits.values()].some(
      ({ declaration }) => propertyOf(declaration.body, "event") === undefined,
    )
    return own || [...program.workflows.values()].some((called) => tellsTime(called.program))
  })
}

const waiting = /\b(?:wait|ask|approval|elicitation)\b/
const waits = new WeakMap<Program, boolean>()

/** Whether anything that a file calls may wait for people, or for a time. */
export function callsWait(program: Program): boolean {
  return remembered(waits, program, () => {
    const files = [program, ...program.imported]
    const called = [...program.workflows.values()].map((one) => one.program)
    return (
      files.some(({ tree }) => /\b(?:approval|elicitation)\b/.test(tree.text)) ||
      called.some((one) => waiting.test(one.tree.text) || callsWait(one))
    )
  })
}
