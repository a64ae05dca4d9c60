import type { Checking } from "./checking.ts"

const mostListed = 20

interface Named {
  readonly name: string
}

/** "Did you mean `x`? Its fields are `x`, `y`." */
export function knownList(checking: Checking, name: string, known: readonly Named[], intro: string): string {
  const near = checking.suggest(name, namesOf(known))
  const list = known.length === 0 ? "There is none." : `${intro} ${listed(known, (one) => one)}.`
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
