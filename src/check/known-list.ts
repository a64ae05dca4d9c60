import { isIdentifier } from "../base/identifier.ts"
import type { CheckContext } from "./check-context.ts"

export const mostListed = 20

interface Named {
  readonly name: string
}

/** "Did you mean `x`? Its fields are `x`, `y`." */
export function knownList(checking: CheckContext, name: string, known: readonly Named[], intro: string): string {
  const near = checking.suggest(name, namesOf(known))
  const list = known.length === 0 ? "None are declared." : `${intro} ${listed(known, (one) => one)}.`
  return near === undefined ? list : `Did you mean \`${near}\`? ${list}`
}

/** "`a`, `b` and 7 more" */
export function listed(known: readonly Named[], show: (name: string) => string): string {
  const shown = known.slice(0, mostListed).map(({ name }) => `\`${show(name)}\``)
  const more = known.length - shown.length
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ")
}

/** One after the other, as far as they are asked for: a block may have very many. */
export function* namesOf(known: readonly Named[]): Generator<string> {
  for (const { name } of known) yield name
}

/** The first few of what could stand there. */
export function knownNames(candidates: Iterable<string>): string {
  const shown: string[] = []
  let end = "."
  for (const candidate of candidates) {
    if (shown.length === 8) {
      end = ", …"
      break
    }
    shown.push(`\`${asWritten(candidate)}\``)
  }
  return shown.length === 0 ? "Nothing of this kind is declared." : `Known: ${shown.join(", ")}${end}`
}

/** A name as it is written: in quotes when it is not an identifier. */
export function asWritten(name: string): string {
  return isIdentifier(name) ? name : JSON.stringify(name)
}
