import type { Random } from "../../support/random.ts"

/**
 * Another text like this one. What costs more than its length is mostly something repeated, nested or cut off, so that is what is
 * done most.
 */
export function mutate(text: string, random: Random, tokens: readonly string[], most: number): string {
  let changed = text
  for (let count = random.size(4); count > 0; count--) changed = once(changed, random, tokens, most).slice(0, most)
  return changed
}

function once(text: string, random: Random, tokens: readonly string[], most: number): string {
  const from = random.below(text.length + 1)
  const to = Math.min(text.length, from + random.size(40))
  const piece = text.slice(from, to)
  const room = Math.max(0, most - text.length)
  switch (random.below(8)) {
    case 0:
      return text.slice(0, from) + text.slice(to)
    case 1:
      return text.slice(0, from)
    case 2:
      return text.slice(0, from) + random.pick(tokens) + text.slice(from)
    case 3: {
      const token = random.pick(tokens)
      return text.slice(0, from) + token.repeat(random.size(room / token.length + 1)) + text.slice(from)
    }
    case 4:
      return text.slice(0, from) + random.pick(tokens) + random.pick(tokens).repeat(random.size(200)) + text.slice(to)
    case 5: {
      // A part of it inside of itself, again and again.
      const [open, close] = [text.slice(0, from), text.slice(to)]
      const depth = random.size(room / (open.length + close.length + 1) + 1)
      return open.repeat(depth) + piece + close.repeat(depth)
    }
    default: {
      if (piece === "") return text
      return text.slice(0, to) + piece.repeat(random.size(room / piece.length + 1)) + text.slice(to)
    }
  }
}
