import { compilePattern, PatternSearch, type PatternTree } from "./linear-pattern.ts"

// Patterns of JSON Schemas come from strangers, and JavaScript's own engine needs exponential time for some. Lookarounds and back
// references have no automaton.

const longestPattern = 2000
const maxStates = 2000
const deepestGroup = 100

export interface EcmaPattern {
  /** Whether the text holds a match. Every step is counted. */
  test(text: string, steps: { spend(steps: number): void }): boolean
}

/** Steps that are counted at once. */
const perStep = 1000

/** Null for a pattern that is not a regular expression, is too large, or needs more than one reading of the text. */
export function ecmaPattern(pattern: string): EcmaPattern | null {
  if (pattern.length > longestPattern || pattern.split("(").length > deepestGroup) return null
  const flags = ["u", ""].find((candidate) => isValid(pattern, candidate))
  if (flags === undefined) return null
  const tree = new Parser(pattern, flags).parse()
  const program = tree === null ? null : compilePattern(tree, flags === "u", maxStates)
  if (program === null) return null
  return {
    test: (text, steps) => {
      steps.spend(1 + program.states.length / 16)
      const search = new PatternSearch(program, text, 0, -1)
      for (;;) {
        const before = search.steps
        const found = search.run(perStep)
        steps.spend(search.steps - before)
        if (found !== undefined) return found
      }
    },
  }
}

function isValid(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags).flags === flags
  } catch {
    return false
  }
}

/** Thrown for what has no automaton. */
class Unsupported extends Error {}

/** Reads a pattern that JavaScript accepts under the same flags. */
class Parser {
  readonly #text: string
  readonly #flags: string
  #at = 0

  constructor(text: string, flags: string) {
    this.#text = text
    this.#flags = flags
  }

  parse(): PatternTree | null {
    try {
      const tree = this.#choice()
      return this.#at === this.#text.length ? tree : null
    } catch (error) {
      if (error instanceof Unsupported) return null
      throw error
    }
  }

  /** sequence ( "|" sequence )* */
  #choice(): PatternTree {
    const parts = [this.#sequence()]
    while (this.#take(/\|/y) !== null) parts.push(this.#sequence())
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: "choice", parts }
  }

  /** ( atom quantifier? )* */
  #sequence(): PatternTree {
    const parts: PatternTree[] = []
    while (this.#at < this.#text.length && !/[|)]/.test(this.#text.charAt(this.#at))) parts.push(this.#quantified())
    return { kind: "sequence", parts }
  }

  #quantified(): PatternTree {
    const part = this.#atom()
    const found = this.#take(/(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y)
    if (found === null) return part
    const [text, from, comma, to] = found
    const [least, most] =
      from === undefined
        ? ({ "*": [0, Infinity], "+": [1, Infinity], "?": [0, 1] } as const)[text.charAt(0) as "*" | "+" | "?"]
        : [Number(from), comma === undefined ? Number(from) : to === "" ? Infinity : Number(to)]
    return { kind: "repeat", part, least, most }
  }

  #atom(): PatternTree {
    if (this.#take(/\^/y) !== null) return { kind: "assertion", what: "start" }
    if (this.#take(/\$/y) !== null) return { kind: "assertion", what: "end" }
    if (this.#take(/\\b/y) !== null) return { kind: "assertion", what: "boundary" }
    if (this.#take(/\\B/y) !== null) return { kind: "assertion", what: "inside" }
    if (this.#take(/\((?:\?:|\?<(?![=!])[^>]*>|(?!\?))/y) !== null) {
      const inner = this.#choice()
      this.#take(/\)/y)
      return inner
    }
    const unicode = this.#flags === "u"
    // A surrogate pair is one character for `u`, and so is the pair of its escapes.
    const one = this.#take(
      unicode
        ? /\[(?:[^\]\\]|\\[^])*\]|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\u\{\w+\}|\\u\w{4}|\\[pP]\{[^}]*\}|\\x\w\w|\\c[A-Za-z]|\\[^1-9k]|[^\\()]/uy
        : /\[(?:[^\]\\]|\\[^])*\]|\\u\w{4}|\\x\w\w|\\c[A-Za-z]|\\[^1-9kpPuxc]|[^\\()]/y,
    )
    if (one === null) throw new Unsupported()
    return { kind: "character", accepts: acceptor(one[0], this.#flags) }
  }

  #take(expected: RegExp): RegExpExecArray | null {
    expected.lastIndex = this.#at
    const found = expected.exec(this.#text)
    if (found !== null) this.#at = expected.lastIndex
    return found
  }
}

/** For one character, JavaScript's own engine is asked: that is quick whatever the class is. */
function acceptor(source: string, flags: string): (code: number) => boolean {
  if (!/^[[\\.]/.test(source)) return (code) => String.fromCodePoint(code) === source
  const expression = new RegExp(`^${source}$`, flags)
  return (code) => expression.test(String.fromCodePoint(code))
}
