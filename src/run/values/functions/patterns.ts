import { PatternSearch, type PatternProgram } from "../../../base/linear-pattern.ts"
import { re2Pattern } from "../../../base/re2-pattern.ts"
import type { JsonValue } from "../../../base/json-value.ts"
import type { Steps } from "../steps.ts"
import { ArrayBuilder, TextBuilder } from "../value-builders.ts"
import type { FunctionCall } from "./function-call.ts"

/** A step of a search takes as long as copying this many characters. */
const perPatternStep = 8
/** Steps between two looks at whether others should have their turn. */
const stepsAtOnce = 16_384
/** To begin a search, and to go on after a match. */
const perMatch = 128

function programAt(call: FunctionCall, at: number): PatternProgram {
  const program = re2Pattern(call.text(at))
  return "problem" in program ? call.fail(`the pattern is wrong: ${program.problem}`) : program
}

function* isFound(call: FunctionCall, search: PatternSearch): Steps<boolean> {
  call.spend(perMatch)
  for (;;) {
    const before = search.steps
    const found = search.run(stepsAtOnce)
    call.spend(Math.ceil(search.steps - before) * perPatternStep)
    if (found !== undefined) return found
    if (call.isDue) yield null
  }
}

export function* matches(call: FunctionCall): Steps<JsonValue> {
  return yield* isFound(call, new PatternSearch(programAt(call, 1), call.text(0), 0, -1))
}

/** The first match, or its first group where the pattern has one. */
export function* find(call: FunctionCall): Steps<JsonValue> {
  const [text, program] = [call.text(0), programAt(call, 1)]
  const group = Math.min(1, program.groups)
  const search = new PatternSearch(program, text, 0, group)
  if (!(yield* isFound(call, search))) return null
  const found = groupOf(text, search, group)
  return found === null ? null : call.madeText(found)
}

function groupOf(text: string, { found }: PatternSearch, group: number): string | null {
  const [from = -1, to = -1] = [found[2 * group], found[2 * group + 1]]
  return from < 0 || to < 0 ? null : text.slice(from, to)
}

/** Calls `visit` for each match, from left to right. An empty one right after another match is none. */
function* eachMatch(call: FunctionCall, search: PatternSearch, text: string, visit: () => void): Steps<void> {
  let last = -1
  for (let from = 0; from <= text.length;) {
    if (call.isDue) yield null
    search.restart(from)
    if (!(yield* isFound(call, search))) return
    const [start = 0, end = 0] = search.found
    if (end > start || start !== last) visit()
    last = end
    from = end > start ? end : end + ((text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1)
  }
}

export function* findAll(call: FunctionCall): Steps<JsonValue> {
  const [text, program] = [call.text(0), programAt(call, 1)]
  const group = Math.min(1, program.groups)
  const search = new PatternSearch(program, text, 0, group)
  const all = new ArrayBuilder(call.scope)
  yield* eachMatch(call, search, text, () => {
    call.cut(1)
    all.add(groupOf(text, search, group) ?? "")
  })
  return all.array
}

export function* replaceAll(call: FunctionCall): Steps<JsonValue> {
  const [text, program, to] = [call.text(0), programAt(call, 1), call.text(2)]
  // Texts and numbers of groups in turn.
  const parts = to.split(/\$([1-9])/)
  const groups = Math.min(9, program.groups)
  const search = new PatternSearch(program, text, 0, parts.length > 1 ? groups : 0)
  const whole = new TextBuilder(call.scope)
  let kept = 0
  yield* eachMatch(call, search, text, () => {
    const [start = 0, end = 0] = search.found
    call.cut(1 + parts.length)
    whole.add(text.slice(kept, start))
    for (const [at, part] of parts.entries()) {
      const isGroup = at % 2 === 1 && Number(part) <= groups
      whole.add(isGroup ? (groupOf(text, search, Number(part)) ?? "") : at % 2 === 1 ? `$${part}` : part)
    }
    kept = end
  })
  whole.add(text.slice(kept))
  return whole.text
}
