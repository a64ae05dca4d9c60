// A regular expression as an automaton that reads a text once: time is states × characters, whatever the pattern is. Of several
// matches the leftmost counts, and of those the one that a reader who tries alternatives in their order would find.

export type Assertion = "start" | "end" | "line-start" | "line-end" | "boundary" | "inside"

/** Whether a character, by its code, is one of a class. */
export type Accepts = (code: number) => boolean

export type PatternTree =
  | { readonly kind: "character"; readonly accepts: Accepts }
  | { readonly kind: "assertion"; readonly what: Assertion }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly PatternTree[] }
  | {
      readonly kind: "repeat"
      readonly part: PatternTree
      readonly least: number
      readonly most: number
      readonly isLazy?: boolean
    }
  | { readonly kind: "group"; readonly index: number; readonly part: PatternTree }

const CHARACTER = 0
const ASSERTION = 1
const FORK = 2
const SAVE = 3
const MATCH = 4

interface State {
  readonly op: number
  /** The state after it; of a fork the one that is tried first. */
  next: number
  /** For a fork, the branch that is tried second; for a group, the slot of its position. */
  other: number
  readonly accepts?: CharacterClass
  readonly what?: Assertion
}

/** A class of characters, with what it says of ASCII in a table. */
class CharacterClass {
  readonly ascii: Uint8Array
  readonly #accepts: Accepts
  readonly #known = new Map<number, boolean>()

  constructor(accepts: Accepts) {
    this.#accepts = accepts
    this.ascii = Uint8Array.from({ length: 128 }, (_, code) => Number(accepts(code)))
  }

  has(code: number): boolean {
    if (code < 128) return this.ascii[code] === 1
    let known = this.#known.get(code)
    if (known === undefined) {
      known = this.#accepts(code)
      if (this.#known.size < 4096) this.#known.set(code, known)
    }
    return known
  }
}

export interface PatternProgram {
  readonly states: readonly State[]
  readonly first: number
  /** How many groups it has. */
  readonly groups: number
  /** Characters are code points, and not UTF-16 units. */
  readonly isUnicode: boolean
  /** Passes over what no match is in; null where a match may be empty. */
  readonly passing: Passing | null
  /** A match can only begin where the text does. */
  readonly isAnchored: boolean
}

/** Null for a pattern of more states than are allowed. */
export function compilePattern(tree: PatternTree, isUnicode: boolean, maxStates: number): PatternProgram | null {
  const states: State[] = [{ op: MATCH, next: -1, other: -1 }]
  let groups = 0
  let built = 0
  let isTooLarge = false
  const add = (op: number, next: number, other: number, more: Pick<State, "accepts" | "what"> = {}): number => {
    if (states.length >= maxStates) isTooLarge = true
    return isTooLarge ? 0 : states.push({ op, next, other, ...more }) - 1
  }
  const classes = new Map<Accepts, CharacterClass>()
  const classOf = (accepts: Accepts): CharacterClass => {
    const made = classes.get(accepts) ?? new CharacterClass(accepts)
    classes.set(accepts, made)
    return made
  }
  const fork = (part: number, rest: number, isLazy = false): number =>
    isLazy ? add(FORK, rest, part) : add(FORK, part, rest)
  /** The state that matches a tree and continues at `next`. */
  const build = (at: PatternTree, next: number): number => {
    // Repeated parts that match the empty text alone add no states.
    if (++built > 4 * maxStates) isTooLarge = true
    if (isTooLarge) return 0
    switch (at.kind) {
      case "character":
        return add(CHARACTER, next, -1, { accepts: classOf(at.accepts) })
      case "assertion":
        return add(ASSERTION, next, -1, { what: at.what })
      case "sequence":
        return at.parts.reduceRight((after, part) => build(part, after), next)
      case "choice":
        return at.parts.map((part) => build(part, next)).reduceRight((other, part) => add(FORK, part, other))
      case "group": {
        groups = Math.max(groups, at.index)
        const end = add(SAVE, next, 2 * at.index + 1)
        return add(SAVE, build(at.part, end), 2 * at.index)
      }
      case "repeat": {
        let after = next
        if (at.most === Infinity) {
          const loop = add(FORK, next, next)
          const part = build(at.part, loop)
          const state = states[loop]
          if (state !== undefined && !isTooLarge)
            [state.next, state.other] = at.isLazy === true ? [next, part] : [part, next]
          after = loop
        } else {
          for (let count = at.least; count < at.most && !isTooLarge; count++) {
            after = fork(build(at.part, after), next, at.isLazy)
          }
        }
        for (let count = 0; count < at.least && !isTooLarge; count++) after = build(at.part, after)
        return after
      }
    }
  }
  const first = build(tree, 0)
  return isTooLarge ? null : { states, first, groups, isUnicode, ...beginnings(states, first) }
}

function beginnings(states: readonly State[], first: number): Pick<PatternProgram, "passing" | "isAnchored"> {
  const seen = new Set<number>()
  let isEmpty = false
  let isAnchored = true
  const open: [number, boolean][] = [[first, false]]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const [index, isAfterStart] = at
    const state = states[index]
    if (state === undefined || seen.has(index)) continue
    seen.add(index)
    switch (state.op) {
      case CHARACTER:
        isAnchored &&= isAfterStart
        break
      case MATCH:
        isEmpty = true
        isAnchored &&= isAfterStart
        break
      case FORK:
        open.push([state.next, isAfterStart], [state.other, isAfterStart])
        break
      case ASSERTION:
        open.push([state.next, isAfterStart || state.what === "start"])
        break
      default:
        open.push([state.next, isAfterStart])
    }
  }
  return { passing: isEmpty ? null : new Passing(states, first), isAnchored }
}

interface PassingSet {
  readonly members: readonly number[]
  readonly isMatch: boolean
  /** By the kind of the next character; -1 where that was not met yet. */
  readonly next: Int32Array
}

/** States of the automaton below, and characters that it tells apart. */
const mostSets = 1000
const mostKinds = 256

/**
 * Passes quickly over a text that no match is in: all states that the pattern may be in are one state here, made when it is met first. It
 * takes every assertion to hold, so that it may stop where no match is.
 */
class Passing {
  readonly #states: readonly State[]
  readonly #first: number
  readonly #classes: readonly CharacterClass[]
  /** The kind of each ASCII character: those of one kind belong to the same classes. */
  readonly #ascii: Uint8Array
  readonly #kinds = new Map<string, number>()
  readonly #examples: number[] = []
  readonly #others = new Map<number, number>()
  #sets: PassingSet[] = []
  readonly #known = new Map<string, number>()

  constructor(states: readonly State[], first: number) {
    this.#states = states
    this.#first = first
    this.#classes = [...new Set(states.flatMap(({ accepts }) => accepts ?? []))]
    this.#ascii = Uint8Array.from({ length: 128 }, (_, code) => this.#kindOf(code))
    this.#setOf([])
  }

  #kindOf(code: number): number {
    const key = this.#classes.map((one) => (one.has(code) ? "1" : "0")).join("")
    const before = this.#kinds.get(key)
    if (before !== undefined) return before
    if (this.#kinds.size === mostKinds) throw new Error("ASCII has no more than 128 kinds")
    this.#kinds.set(key, this.#kinds.size)
    this.#examples.push(code)
    return this.#kinds.size - 1
  }

  /** -1 where there are too many kinds of characters. */
  #kindAt(code: number): number {
    let kind = this.#others.get(code)
    if (kind === undefined) {
      kind = this.#kinds.size === mostKinds ? -1 : this.#kindOf(code)
      if (this.#others.size < 4096) this.#others.set(code, kind)
    }
    return kind
  }

  /**
   * The set of these states, those that they lead to without a character, and those that a match begins with. The set of nothing begun is
   * one of its own, even where a match that has begun has the same states, as after the first blank of ` *b`.
   */
  #setOf(begun: readonly number[]): number {
    const members = new Set<number>()
    let isMatch = false
    const open = [this.#first, ...begun]
    const seen = new Set<number>()
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const state = this.#states[at]
      if (state === undefined || seen.has(at)) continue
      seen.add(at)
      if (state.op === CHARACTER) members.add(at)
      else if (state.op === MATCH) isMatch = true
      else if (state.op === FORK) open.push(state.next, state.other)
      else open.push(state.next)
    }
    const all = [...members].sort((a, b) => a - b)
    const key = `${isMatch ? "!" : ""}${begun.length === 0 ? "" : "+"}${all.join()}`
    const before = this.#known.get(key)
    if (before !== undefined) return before
    this.#known.set(key, this.#sets.length)
    return this.#sets.push({ members: all, isMatch, next: new Int32Array(mostKinds).fill(-1) }) - 1
  }

  #step(from: number, kind: number): number {
    const set = this.#sets[from]
    const code = this.#examples[kind]
    if (set === undefined || code === undefined) return 0
    const begun = set.members.flatMap((at) => {
      const state = this.#states[at]
      return state?.accepts?.has(code) === true ? [state.next] : []
    })
    if (this.#sets.length >= mostSets) return -1
    const to = this.#setOf(begun)
    set.next[kind] = to
    return to
  }

  /** Up to where the text was read. */
  end = 0

  /** Where the first match begins at the earliest, if one ends by `end`; the length of the text where there is none. */
  pass(text: string, from: number): number {
    const { length } = text
    const ascii = this.#ascii
    let begin = from
    let set = 0
    let { isMatch, next: row } = this.#rowOf(0)
    for (let at = from; at < length;) {
      const unit = text.charCodeAt(at)
      const code = unit < 0xd800 ? unit : (text.codePointAt(at) ?? unit)
      const kind = code < 128 ? (ascii[code] ?? 0) : this.#kindAt(code)
      let next = kind < 0 ? -1 : (row[kind] ?? -1)
      if (next < 0 && kind >= 0) next = this.#step(set, kind)
      at += code > 0xffff ? 2 : 1
      if (next < 0) {
        // Too many sets or kinds: what is here is left to the search.
        this.#forget()
        this.end = at
        return begin
      }
      if (next !== set) {
        set = next
        ;({ isMatch, next: row } = this.#rowOf(set))
        if (isMatch) {
          this.end = at
          return begin
        }
      }
      if (set === 0) begin = at
    }
    this.end = length
    return length
  }

  #rowOf(set: number): PassingSet {
    const row = this.#sets[set]
    if (row === undefined) throw new Error("There is no such set")
    return row
  }

  #forget(): void {
    this.#sets = []
    this.#known.clear()
    this.#setOf([])
  }
}

/** The search for the first match in a text from a position on. It can be interrupted, because texts may be long. */
export class PatternSearch {
  /** Where the match and its groups begin and end, in turn; -1 for a group that is not part of it. */
  readonly found: Int32Array
  /** Steps so far. */
  steps = 0
  readonly #program: PatternProgram
  readonly #text: string
  readonly #slots: number
  #at: number
  /** A match may be before this place. */
  #hot = 0
  #isFound = false
  #active: Threads
  #next: Threads

  /** `groups`: how many of them are asked for; -1 asks only whether there is a match. */
  constructor(program: PatternProgram, text: string, from: number, groups: number) {
    this.#program = program
    this.#text = text
    this.#at = from
    this.#slots = 2 * (groups + 1)
    this.found = new Int32Array(this.#slots).fill(-1)
    this.#active = new Threads(program.states.length, this.#slots)
    this.#next = new Threads(program.states.length, this.#slots)
  }

  /** Searches on from another position. */
  restart(from: number): void {
    this.#at = from
    this.#isFound = false
    this.#active.clear()
    this.#next.clear()
    this.found.fill(-1)
  }

  /** Reads on for about so many steps. Undefined where the end is not known yet. */
  run(maxSteps: number): boolean | undefined {
    const { passing, isAnchored, isUnicode, first, states } = this.#program
    const text = this.#text
    const slots = this.#slots
    const { length } = text
    const end = this.steps + maxSteps
    for (;;) {
      if (this.#active.count === 0) {
        if (this.#isFound || (isAnchored && this.#at > 0)) return this.#isFound
        if (passing !== null && !isAnchored && isUnicode && this.#at >= this.#hot) {
          const begin = passing.pass(text, this.#at)
          this.steps += (passing.end - this.#at) / 8
          this.#hot = passing.end
          this.#at = begin
          if (begin === length) return false
        }
      }
      const at = this.#at
      if (!this.#isFound && (!isAnchored || at === 0)) {
        const { scratch } = this.#active
        for (let slot = 0; slot < slots; slot++) scratch[slot] = slot === 0 ? at : -1
        this.#add(this.#active, first, at)
      }
      const active = this.#active
      const next = this.#next
      next.clear()
      const code = at >= length ? -1 : isUnicode ? (text.codePointAt(at) ?? -1) : text.charCodeAt(at)
      const after = at + (code > 0xffff ? 2 : 1)
      this.steps += 1 + active.count
      for (let index = 0; index < active.count; index++) {
        const at = active.states[index] ?? 0
        const state = states[at]
        if (state === undefined) break
        if (state.op === MATCH) {
          this.#isFound = true
          if (slots === 0) return true
          for (let slot = 0; slot < slots; slot++) this.found[slot] = active.kept[at * slots + slot] ?? -1
          this.found[1] = this.#at
          break
        }
        if (code < 0 || state.accepts?.has(code) !== true) continue
        for (let slot = 0; slot < slots; slot++) next.scratch[slot] = active.kept[at * slots + slot] ?? -1
        this.#add(next, state.next, after)
      }
      if (code < 0) return this.#isFound
      this.#active = next
      this.#next = active
      this.#at = after
      if (this.steps > end) return undefined
    }
  }

  /** Adds a state and those that it leads to without a character, in the order in which they are tried. */
  #add(threads: Threads, index: number, at: number): void {
    if (!threads.mark(index)) return
    this.steps++
    const state = this.#program.states[index]
    if (state === undefined) return
    switch (state.op) {
      case FORK:
        this.#add(threads, state.next, at)
        return this.#add(threads, state.other, at)
      case ASSERTION:
        if (state.what !== undefined && holds(state.what, this.#text, at)) this.#add(threads, state.next, at)
        return
      case SAVE: {
        if (state.other >= this.#slots) return this.#add(threads, state.next, at)
        const before = threads.scratch[state.other] ?? -1
        threads.scratch[state.other] = at
        this.#add(threads, state.next, at)
        threads.scratch[state.other] = before
        return
      }
      default:
        threads.push(index)
    }
  }
}

/** The states that the automaton is in, in the order in which they are tried, each with the positions of its groups. */
class Threads {
  readonly states: Int32Array
  readonly kept: Int32Array
  /** The positions of the state that is added. */
  readonly scratch: Int32Array
  count = 0
  readonly #marks: Uint32Array
  readonly #slots: number
  #mark = 1

  constructor(states: number, slots: number) {
    this.states = new Int32Array(states)
    this.kept = new Int32Array(states * slots)
    this.scratch = new Int32Array(slots)
    this.#marks = new Uint32Array(states)
    this.#slots = slots
  }

  clear(): void {
    this.count = 0
    this.#mark++
  }

  /** False where the state is there already. */
  mark(state: number): boolean {
    if (this.#marks[state] === this.#mark) return false
    this.#marks[state] = this.#mark
    return true
  }

  push(state: number): void {
    this.states[this.count++] = state
    const slots = this.#slots
    for (let slot = 0; slot < slots; slot++) this.kept[state * slots + slot] = this.scratch[slot] ?? -1
  }
}

function holds(what: Assertion, text: string, at: number): boolean {
  switch (what) {
    case "start":
      return at === 0
    case "end":
      return at === text.length
    case "line-start":
      return at === 0 || text.charCodeAt(at - 1) === 10
    case "line-end":
      return at === text.length || text.charCodeAt(at) === 10
    default: {
      const isBoundary = isWord(text, at - 1) !== isWord(text, at)
      return isBoundary === (what === "boundary")
    }
  }
}

function isWord(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  // No unit, outside of the text, is greater or less than anything.
  return (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || unit === 95 || (unit >= 97 && unit <= 122)
}
