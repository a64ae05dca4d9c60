import type { StepBudget } from "./step-budget.ts"

// Patterns come from strangers, and JavaScript's own engine needs exponential time for some. Here a pattern becomes an automaton
// that reads a text once: time is states × characters, and every step is counted. Lookarounds and back references have no such
// automaton.

const longestPattern = 2000
const maxStates = 2000
const deepestGroup = 100

export interface LinearPattern {
  /** Whether the text holds a match. */
  test(text: string, steps: StepBudget): boolean
}

/** Null for a pattern that is not a regular expression, is too large, or needs more than one reading of the text. */
export function linearPattern(pattern: string): LinearPattern | null {
  if (pattern.length > longestPattern || pattern.split("(").length > deepestGroup) return null
  const flags = ["u", ""].find((candidate) => isValid(pattern, candidate))
  if (flags === undefined) return null
  const tree = new Parser(pattern, flags).parse()
  const program = tree === null ? null : compile(tree)
  return program === null ? null : { test: (text, steps) => matches(program, text, flags === "u", steps) }
}

function isValid(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags).flags === flags
  } catch {
    return false
  }
}

type Assertion = "start" | "end" | "boundary" | "inside"

type Tree =
  | { readonly kind: "character"; readonly accepts: (character: string) => boolean }
  | { readonly kind: "assertion"; readonly what: Assertion }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Tree[] }
  | { readonly kind: "repeat"; readonly part: Tree; readonly least: number; readonly most: number }

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

  parse(): Tree | null {
    try {
      const tree = this.#choice()
      return this.#at === this.#text.length ? tree : null
    } catch (error) {
      if (error instanceof Unsupported) return null
      throw error
    }
  }

  /** sequence ( "|" sequence )* */
  #choice(): Tree {
    const parts = [this.#sequence()]
    while (this.#take(/\|/y) !== null) parts.push(this.#sequence())
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: "choice", parts }
  }

  /** ( atom quantifier? )* */
  #sequence(): Tree {
    const parts: Tree[] = []
    while (this.#at < this.#text.length && !/[|)]/.test(this.#text.charAt(this.#at))) parts.push(this.#quantified())
    return { kind: "sequence", parts }
  }

  #quantified(): Tree {
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

  #atom(): Tree {
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
function acceptor(source: string, flags: string): (character: string) => boolean {
  if (!/^[[\\.]/.test(source)) return (character) => character === source
  const expression = new RegExp(`^${source}$`, flags)
  const known = new Map<string, boolean>()
  return (character) => {
    let accepted = known.get(character)
    if (accepted === undefined) {
      accepted = expression.test(character)
      if (known.size < 128) known.set(character, accepted)
    }
    return accepted
  }
}

type State =
  | { readonly kind: "character"; readonly accepts: (character: string) => boolean; readonly next: number }
  | { readonly kind: "assertion"; readonly what: Assertion; readonly next: number }
  | { readonly kind: "fork"; readonly next: number; readonly other: number }
  | { readonly kind: "match" }

interface Program {
  readonly states: readonly State[]
  readonly first: number
}

function compile(tree: Tree): Program | null {
  const states: State[] = [{ kind: "match" }]
  const add = (state: State): number => {
    if (states.length >= maxStates) throw new Unsupported()
    return states.push(state) - 1
  }
  let built = 0
  /** The state that matches a tree and continues at `next`. */
  const build = (at: Tree, next: number): number => {
    // Repeated parts that match the empty text alone add no states.
    if (++built > 4 * maxStates) throw new Unsupported()
    switch (at.kind) {
      case "character":
        return add({ kind: "character", accepts: at.accepts, next })
      case "assertion":
        return add({ kind: "assertion", what: at.what, next })
      case "sequence":
        return at.parts.reduceRight((after, part) => build(part, after), next)
      case "choice":
        return at.parts
          .map((part) => build(part, next))
          .reduceRight((other, part) => add({ kind: "fork", next: part, other }))
      case "repeat": {
        let after = next
        if (at.most === Infinity) {
          const fork = add({ kind: "fork", next, other: next })
          states[fork] = { kind: "fork", next: build(at.part, fork), other: next }
          after = fork
        } else {
          if (at.most > maxStates) throw new Unsupported()
          for (let count = at.least; count < at.most; count++) {
            after = add({ kind: "fork", next: build(at.part, after), other: next })
          }
        }
        if (at.least > maxStates) throw new Unsupported()
        for (let count = 0; count < at.least; count++) after = build(at.part, after)
        return after
      }
    }
  }
  try {
    return { first: build(tree, 0), states }
  } catch (error) {
    if (error instanceof Unsupported) return null
    throw error
  }
}

function matches({ states, first }: Program, text: string, unicode: boolean, steps: StepBudget): boolean {
  steps.spend(1 + text.length / 16)
  const characters = unicode ? Array.from(text) : text.split("")
  const visited = new Uint32Array(states.length)
  steps.spend(states.length / 16)
  let active: number[] = []
  for (let at = 0; at <= characters.length; at++) {
    // A match may begin at every character.
    const open = [...active, first]
    const waiting: Extract<State, { kind: "character" }>[] = []
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      steps.spend()
      if (visited[index] === at + 1) continue
      visited[index] = at + 1
      const state = states[index]
      if (state === undefined || state.kind === "match") return true
      if (state.kind === "character") waiting.push(state)
      else if (state.kind === "fork") open.push(state.next, state.other)
      else if (holds(state.what, characters, at)) open.push(state.next)
    }
    const character = characters[at]
    if (character === undefined) return false
    active = waiting.filter((state) => state.accepts(character)).map((state) => state.next)
  }
  return false
}

function holds(what: Assertion, characters: readonly string[], at: number): boolean {
  if (what === "start") return at === 0
  if (what === "end") return at === characters.length
  const boundary = isWord(characters[at - 1]) !== isWord(characters[at])
  return what === "boundary" ? boundary : !boundary
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /^\w$/.test(character)
}
