import { isIdentifier } from "../base/identifier.ts"
import { type Hint, meantWord } from "../source/hint.ts"
import type { CheckContext } from "./check-context.ts"

export const maxListed = 20

interface Named {
  readonly name: string
}

/** "Did you mean `x`? Its fields are `x`, `y`." */
export function knownList(checking: CheckContext, name: string, known: readonly Named[], intro: string): Hint {
  const near = checking.suggest(name, namesOf(known))
  return nearAnd(near, known.length === 0 ? "None are declared." : `${intro} ${listed(namesOf(known), known.length)}.`)
}

/** The name that was probably meant, if there is one, and the names that there are. */
export function nearAnd(near: string | undefined, list: string): Hint {
  return near === undefined ? list : meantWord(near, list)
}

/** "`a`, `b` and 7 more" */
export function listed(names: Iterable<string>, count: number): string {
  const shown = firstOf(names, maxListed)
  const more = count - shown.length
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ")
}

/** The first few names, in backticks. */
export function firstOf(names: Iterable<string>, most: number): string[] {
  const shown: string[] = []
  for (const name of names) {
    if (shown.length === most) break
    shown.push(`\`${name}\``)
  }
  return shown
}

/** One after the other, as far as they are asked for: a block may have very many. */
export function* namesOf(known: readonly Named[]): Generator<string> {
  for (const { name } of known) yield name
}

/** The first few of what could stand there. */
export function knownNames(candidates: Iterable<string>): string {
  const shown = firstOf(asAllWritten(candidates), 9)
  if (shown.length === 0) return "Nothing of this kind is declared."
  return `Known: ${shown.slice(0, 8).join(", ")}${shown.length > 8 ? ", …" : "."}`
}

function* asAllWritten(names: Iterable<string>): Generator<string> {
  // What came along with an import has no name here.
  for (const name of names) if (!name.includes("#")) yield asWritten(name)
}

/** A name as it is written: in quotes when it is not an identifier. */
export function asWritten(name: string): string {
  return isIdentifier(name) ? name : JSON.stringify(name)
}
