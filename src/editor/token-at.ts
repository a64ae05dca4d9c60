import type { Token } from "../syntax/token.ts"
import type { Tree } from "../syntax/tree.ts"

/** Index of the first token that ends after the offset: the one that the offset is in, or the next. */
export function tokenIndexAt(tree: Tree, offset: number): number {
  const { tokens } = tree
  let low = 0
  let high = tokens.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((tokens[middle]?.end ?? Infinity) > offset) high = middle
    else low = middle + 1
  }
  return low
}

/** The tokens that begin at `start` or after it and end before `end` or there. */
export function* tokensBetween(tree: Tree, start: number, end: number): Generator<Token> {
  for (let index = tokenIndexAt(tree, start); index < tree.tokens.length; index++) {
    const token = tree.tokens[index]
    if (token === undefined || token.end > end || token.kind === "end") return
    if (token.start >= start) yield token
  }
}
