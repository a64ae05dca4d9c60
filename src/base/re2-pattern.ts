import { compilePattern, type Accepts, type PatternProgram, type PatternTree } from "./linear-pattern.ts"

// Patterns in the syntax of RE2, whose texts are read once.

const longestPattern = 10_000
const deepestGroup = 200
const mostRepeats = 1000
const maxStates = 5000

/** Says what is wrong with a pattern, as a part of a sentence, and where. */
export interface PatternProblem {
  readonly problem: string
  readonly start: number
  readonly end: number
}

const known = new Map<string, PatternProgram | PatternProblem>()
const maxKnown = 200

/** The automaton of a pattern, or what is wrong with it. */
export function re2Pattern(pattern: string): PatternProgram | PatternProblem {
  const before = known.get(pattern)
  if (before !== undefined) return before
  if (known.size >= maxKnown) known.clear()
  const made = read(pattern)
  known.set(pattern, made)
  return made
}

function read(pattern: string): PatternProgram | PatternProblem {
  const whole = { start: 0, end: pattern.length }
  if (pattern.length > longestPattern) return { problem: `it is longer than ${longestPattern} characters`, ...whole }
  try {
    const program = compilePattern(new Reader(pattern).whole(), true, maxStates)
    return program ?? { problem: "it is too large: repeat less", ...whole }
  } catch (error) {
    if (error instanceof Wrong) return error.at
    throw error
  }
}

class Wrong extends Error {
  readonly at: PatternProblem

  constructor(problem: string, start: number, end: number) {
    super(problem)
    this.at = { problem, start, end }
  }
}

interface Flags {
  /** `i` */
  readonly folds: boolean
  /** `m` */
  readonly lines: boolean
  /** `s` */
  readonly dotAll: boolean
  /** `U` */
  readonly isLazy: boolean
}

type Range = readonly [number, number]

const digits: readonly Range[] = [[48, 57]]
const words: readonly Range[] = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
]
const blanks: readonly Range[] = [
  [9, 10],
  [12, 13],
  [32, 32],
]
const perl: Readonly<Record<string, readonly Range[]>> = { d: digits, w: words, s: blanks }

/** `[[:alpha:]]` */
const posix: Readonly<Record<string, readonly Range[]>> = {
  alnum: [[48, 57], [65, 90], [97, 122]], // prettier-ignore
  alpha: [[65, 90], [97, 122]], // prettier-ignore
  ascii: [[0, 127]],
  blank: [[9, 9], [32, 32]], // prettier-ignore
  cntrl: [[0, 31], [127, 127]], // prettier-ignore
  digit: digits,
  graph: [[33, 126]],
  lower: [[97, 122]],
  print: [[32, 126]],
  punct: [[33, 47], [58, 64], [91, 96], [123, 126]], // prettier-ignore
  space: [[9, 13], [32, 32]], // prettier-ignore
  upper: [[65, 90]],
  word: words,
  xdigit: [[48, 57], [65, 70], [97, 102]], // prettier-ignore
}

const controls: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }

function within(ranges: readonly Range[]): Accepts {
  return (code) => ranges.some(([from, to]) => code >= from && code <= to)
}

function not(accepts: Accepts): Accepts {
  return (code) => !accepts(code)
}

/** A character in other cases. */
function casesOf(code: number): number[] {
  const one = (text: string): number | undefined => {
    const found = text.codePointAt(0)
    return found !== undefined && text.length === (found > 0xffff ? 2 : 1) ? found : undefined
  }
  const upper = one(String.fromCodePoint(code).toUpperCase()) ?? code
  const lower = one(String.fromCodePoint(upper).toLowerCase()) ?? code
  return [code, upper, lower, one(String.fromCodePoint(lower).toUpperCase()) ?? code, ...(others.get(lower) ?? [])]
}

/** Signs that are another character's upper or lower case, and no case of them leads there: the long s, kelvin, ångström, the final sigma. */
const others = new Map([
  [0x73, [0x17f]],
  [0x6b, [0x212a]],
  [0xe5, [0x212b]],
  [0x3c3, [0x3c2]],
])

function folded(accepts: Accepts): Accepts {
  return (code) => accepts(code) || casesOf(code).some(accepts)
}

class Reader {
  readonly #text: string
  #at = 0
  #flags: Flags = { folds: false, lines: false, dotAll: false, isLazy: false }
  #groups = 0
  #depth = 0
  readonly #names = new Set<string>()

  constructor(text: string) {
    this.#text = text
  }

  whole(): PatternTree {
    const tree = this.#choice()
    if (this.#at < this.#text.length) this.#fail("this `)` closes nothing", this.#at, this.#at + 1)
    return tree
  }

  #fail(problem: string, start: number, end = this.#at): never {
    throw new Wrong(problem, start, Math.max(start, Math.min(end, this.#text.length)))
  }

  #is(text: string): boolean {
    return this.#text.startsWith(text, this.#at)
  }

  #take(expected: RegExp): RegExpExecArray | null {
    expected.lastIndex = this.#at
    const found = expected.exec(this.#text)
    if (found !== null) this.#at = expected.lastIndex
    return found
  }

  /** sequence ( "|" sequence )* */
  #choice(): PatternTree {
    const first = this.#sequence()
    const parts = [first]
    while (this.#is("|")) {
      this.#at++
      parts.push(this.#sequence())
    }
    return parts.length === 1 ? first : { kind: "choice", parts }
  }

  /** ( atom repetition? )* */
  #sequence(): PatternTree {
    const parts: PatternTree[] = []
    while (this.#at < this.#text.length && !this.#is("|") && !this.#is(")")) {
      const start = this.#at
      const quoted = this.#take(/\\Q((?:[^\\]|\\(?!E))*)(?:\\E)?/y)
      if (quoted !== null) {
        for (const character of quoted[1] ?? "") parts.push(this.#literal(character.codePointAt(0) ?? 0))
        const last = parts.pop()
        if (last !== undefined) parts.push(this.#repeated(last, start))
        continue
      }
      const atom = this.#atom()
      if (atom !== null) parts.push(this.#repeated(atom, start))
    }
    return { kind: "sequence", parts }
  }

  #repeated(part: PatternTree, start: number): PatternTree {
    const from = this.#at
    const found = this.#repetition()
    if (found === null) return part
    const isLazy = this.#is("?")
    if (isLazy) this.#at++
    const end = this.#at
    const tree: PatternTree = { kind: "repeat", part, ...found, isLazy: isLazy !== this.#flags.isLazy }
    if (this.#repetition() !== null) {
      const written = this.#text.slice(from, this.#at)
      this.#fail(`\`${written}\` repeats a repetition: put \`${this.#text.slice(start, end)}\` into \`(?:…)\``, from)
    }
    return tree
  }

  #repetition(): { readonly least: number; readonly most: number } | null {
    const start = this.#at
    const found = this.#take(/[*+?]|\{(\d{1,9})(?:(,)(\d{0,9}))?\}/y)
    if (found === null) return null
    const [text, from, comma, to] = found
    if (text === "*") return { least: 0, most: Infinity }
    if (text === "+") return { least: 1, most: Infinity }
    if (text === "?") return { least: 0, most: 1 }
    const least = Number(from)
    const most = comma === undefined ? least : to === "" ? Infinity : Number(to)
    if (most < least) this.#fail(`\`${text}\` repeats at least ${least} and at most ${most} times`, start)
    if (least > mostRepeats || (most > mostRepeats && most !== Infinity)) {
      this.#fail(`\`${text}\` repeats more than ${mostRepeats} times`, start)
    }
    return { least, most }
  }

  /** Null for what only sets flags. */
  #atom(): PatternTree | null {
    const start = this.#at
    const character = this.#text.codePointAt(start) ?? 0
    switch (String.fromCodePoint(character)) {
      case "^":
        this.#at++
        return { kind: "assertion", what: this.#flags.lines ? "line-start" : "start" }
      case "$":
        this.#at++
        return { kind: "assertion", what: this.#flags.lines ? "line-end" : "end" }
      case ".": {
        this.#at++
        return { kind: "character", accepts: this.#flags.dotAll ? () => true : (code) => code !== 10 }
      }
      case "(":
        return this.#group()
      case "[":
        return { kind: "character", accepts: this.#class() }
      case "*":
      case "+":
      case "?":
        return this.#fail(`there is nothing before \`${String.fromCodePoint(character)}\` to repeat`, start, start + 1)
      case "\\":
        return this.#escape()
      default:
        this.#at += character > 0xffff ? 2 : 1
        return this.#literal(character)
    }
  }

  #literal(character: number): PatternTree {
    const is: Accepts = (code) => code === character
    return { kind: "character", accepts: this.#flags.folds ? folded(is) : is }
  }

  #group(): PatternTree | null {
    const start = this.#at
    const before = this.#flags
    let index: number | null = null
    if (this.#take(/\(\?(?:[=!]|<[=!])/y) !== null) {
      this.#fail("there are no lookarounds: the text is read once", start)
    }
    const named = this.#take(/\(\?P?<([^>)]*)>/y)
    if (named !== null) {
      const [, name = ""] = named
      if (!/^[\p{L}\p{Nd}_]+$/u.test(name)) this.#fail(`\`${name}\` is no name of a group`, start)
      if (this.#names.has(name)) this.#fail(`two groups are called \`${name}\``, start)
      this.#names.add(name)
      index = ++this.#groups
    } else if (this.#is("(?")) {
      const found = this.#take(/\(\?([imsU]*)(?:-([imsU]+))?([:)])/y)
      if (found === null) this.#fail("a group begins with `(`, `(?:`, `(?P<name>` or `(?flags:`", start, start + 3)
      const [, on = "", off = "", end] = found
      this.#flags = withFlags(withFlags(before, on, true), off, false)
      if (end === ")") {
        if (on === "" && off === "") this.#fail("a group of flags has none", start)
        return null
      }
    } else {
      this.#at++
      index = ++this.#groups
    }
    if (++this.#depth > deepestGroup)
      this.#fail(`groups are nested deeper than ${deepestGroup} levels`, start, start + 1)
    const part = this.#choice()
    if (!this.#is(")")) this.#fail("this `(` is not closed", start, start + 1)
    this.#at++
    this.#depth--
    // Flags end with the group that they stand in.
    this.#flags = before
    return index === null ? part : { kind: "group", index, part }
  }

  #escape(): PatternTree {
    const start = this.#at
    const assertion = this.#take(/\\([bBAz])/y)
    if (assertion !== null) {
      const what = ({ b: "boundary", B: "inside", A: "start", z: "end" } as const)[
        assertion[1] as "b" | "B" | "A" | "z"
      ]
      return { kind: "assertion", what }
    }
    const accepts = this.#classEscape()
    if (accepts !== null) return { kind: "character", accepts: this.#flags.folds ? folded(accepts) : accepts }
    if (this.#take(/\\[1-9](?![0-7])/y) !== null)
      this.#fail("there are no references to groups: the text is read once", start)
    return this.#literal(this.#characterEscape())
  }

  /** `\d`, `\pL`, `\p{Greek}`; null for another escape. */
  #classEscape(): Accepts | null {
    const start = this.#at
    const simple = this.#take(/\\([dwsDWS])/y)
    if (simple !== null) {
      const [, letter = ""] = simple
      const accepts = within(perl[letter.toLowerCase()] ?? [])
      return letter === letter.toLowerCase() ? accepts : not(accepts)
    }
    const unicode = this.#take(/\\([pP])(?:\{(\^?)(\w+)\}|(\w))/y)
    if (unicode === null) return null
    const [text, letter, caret, long, short] = unicode
    const name = long ?? short ?? ""
    const expression = unicodeClass(name)
    if (expression === null) this.#fail(`\`${text}\` is no class of characters`, start)
    const accepts: Accepts = (code) => expression.test(String.fromCodePoint(code))
    return (letter === "P") !== (caret === "^") ? not(accepts) : accepts
  }

  /** The character that an escape stands for. */
  #characterEscape(): number {
    const start = this.#at
    const found = this.#take(
      /\\(?:([aftnrv])|x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,6})\}|([0-7]{1,3})|([^\p{L}\p{N}]))/uy,
    )
    if (found === null) {
      const letter = String.fromCodePoint(this.#text.codePointAt(start + 1) ?? 0x5c)
      const problem = start + 1 < this.#text.length ? `\`\\${letter}\` is no escape` : "nothing follows the last `\\`"
      return this.#fail(problem, start, start + 1 + letter.length)
    }
    const [, control, two, braces, octal, punctuation] = found
    if (control !== undefined) return controls[control] ?? 0
    if (punctuation !== undefined) return punctuation.codePointAt(0) ?? 0
    const code = octal === undefined ? parseInt(two ?? braces ?? "", 16) : parseInt(octal, 8)
    return code <= 0x10ffff ? code : this.#fail("there is no such character", start)
  }

  /** `[^a-z\d[:alpha:]]` */
  #class(): Accepts {
    const start = this.#at
    const isNegated = this.#take(/\[\^?/y)?.[0] === "[^"
    const parts: Accepts[] = []
    const ranges: Range[] = []
    for (let isFirst = true; isFirst || !this.#is("]"); isFirst = false) {
      if (this.#at >= this.#text.length) this.#fail("this `[` is not closed", start, start + 1)
      const at = this.#at
      const named = this.#take(/\[:(\^?)(\w+):\]/y)
      if (named !== null) {
        const [text, caret, name = ""] = named
        const found = Object.hasOwn(posix, name) ? posix[name] : undefined
        if (found === undefined) this.#fail(`\`${text}\` is no class of characters`, at)
        parts.push(caret === "^" ? not(within(found)) : within(found))
        continue
      }
      const escaped = this.#classEscape()
      if (escaped !== null) {
        parts.push(escaped)
        continue
      }
      const from = this.#classCharacter()
      const isRange = this.#is("-") && this.#at + 1 < this.#text.length && this.#text.charAt(this.#at + 1) !== "]"
      if (isRange) this.#at++
      const to = isRange ? this.#classCharacter() : from
      if (to < from) this.#fail(`the range \`${this.#text.slice(at, this.#at)}\` ends before it begins`, at)
      ranges.push([from, to])
    }
    this.#at++
    const inRanges = within(ranges)
    const any: Accepts = (code) => inRanges(code) || parts.some((part) => part(code))
    const accepts = this.#flags.folds ? folded(any) : any
    return isNegated ? not(accepts) : accepts
  }

  #classCharacter(): number {
    if (this.#is("\\")) return this.#characterEscape()
    const character = this.#text.codePointAt(this.#at) ?? 0
    this.#at += character > 0xffff ? 2 : 1
    return character
  }
}

function withFlags(flags: Flags, letters: string, on: boolean): Flags {
  const has = (letter: string, now: boolean): boolean => (letters.includes(letter) ? on : now)
  return {
    folds: has("i", flags.folds),
    lines: has("m", flags.lines),
    dotAll: has("s", flags.dotAll),
    isLazy: has("U", flags.isLazy),
  }
}

/** A general category or a script; one character is looked at. */
function unicodeClass(name: string): RegExp | null {
  const form = name === "Any" || name.length <= 2 ? name : `Script=${name}`
  try {
    return new RegExp(`^\\p{${form}}$`, "u")
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
