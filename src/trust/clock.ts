import { remembered } from "../base/remembered.ts"
import type { Program } from "../check/program.ts"
import { expressionIn, wordOrString } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"

// What waits tell of each other. A wait for a time says when it ended, and so what those before it were told. An event that was kept goes
// to the first wait that asks for it: each wait tells those of the same event whether it was there.

const known = new WeakMap<Program, boolean>()

/** Whether a value in a file, or in one that it calls, says what time it is. */
export function tellsTime(program: Program): boolean {
  return remembered(known, program, () => {
    const own = [...program.waits.values()].some(({ declaration }) => eventIn(declaration.body) === undefined)
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

const events = new WeakMap<Program, ReadonlySet<string>>()

/** The events that a file waits for, and those that it calls. */
export function eventsOf(program: Program): ReadonlySet<string> {
  return remembered(events, program, () => {
    const own = [...program.waits.values()].map(({ declaration }) => eventIn(declaration.body))
    const called = [...program.workflows.values()].flatMap((one) => [...eventsOf(one.program)])
    return new Set([...own.filter((one) => one !== undefined), ...called])
  })
}

/** The name of the event that a wait asks for. */
export function eventIn(wait: Syntax.Block<Syntax.Property>): string | undefined {
  const written = expressionIn(wait, "event")
  return written === undefined ? undefined : (wordOrString(written) ?? "")
}
