/** A part of a text, in UTF-16 units; `to` is excluded. */
export interface TextRange {
  readonly from: number
  readonly to: number
}

const maxWords = 80
/** Characters of the two texts that are looked at. */
const maxOf = 1_000
const maxWithin = 100_000
const word = /[\p{L}\p{N}]+/gu
/** Fewer words in a row may be the same by chance, unless they are all there are. */
const fewestWords = 3

/** Where the longest run of words of one text stands in another, as it is written or in other case; null where they share too little. */
export function sharedWords(wanted: string, text: string): TextRange | null {
  const of = wanted.slice(0, maxOf)
  const within = text.slice(0, maxWithin)
  const words = [...of.matchAll(word)].slice(0, maxWords)
  const lowerOf = of.toLowerCase()
  const lower = within.toLowerCase()
  // Where lower case has another length, places of one are not those of the other.
  if (lower.length !== within.length || lowerOf.length !== of.length) return null
  let best: TextRange | null = null
  let count = 0
  for (let start = 0; start + count < words.length; start++) {
    for (let end = start + count + 1; end <= words.length; end++) {
      const run = lowerOf.slice(words[start]?.index, endOf(words[end - 1]))
      const at = placeOf(run, lower)
      if (at < 0) break
      best = { from: at, to: at + run.length }
      count = end - start
    }
  }
  return count < Math.min(fewestWords, words.length) ? null : best
}

/** Whole words alone: "art" does not stand in "start". */
function placeOf(run: string, within: string): number {
  for (let at = within.indexOf(run); at >= 0; at = within.indexOf(run, at + 1)) {
    if (!isLetter(within[at - 1]) && !isLetter(within[at + run.length])) return at
  }
  return -1
}

function isLetter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character)
}

function endOf(match: RegExpExecArray | undefined): number {
  return match === undefined ? 0 : match.index + match[0].length
}
