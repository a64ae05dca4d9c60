import { PatternAutomaton } from "./pattern-automaton.ts"
import { PercentDecoder } from "./percent-decoder.ts"
import type { SecretForm } from "./secret-forms.ts"

/** Deep enough for whatever gateways and redirects do to a URL; bounds what a stream has to hold back. */
const maxLevels = 8

/** Everything that a search needs to know of the secrets; made once for a run. */
export class SecretPatterns {
  readonly forms: readonly SecretForm[]
  readonly automaton: PatternAutomaton
  readonly lengths: readonly number[]

  constructor(forms: readonly SecretForm[]) {
    const patterns = forms.map(({ text }) => ({ bytes: bytesOf(text) }))
    this.forms = forms
    this.automaton = new PatternAutomaton(patterns)
    this.lengths = patterns.map(({ bytes }) => bytes.length)
  }
}

/** A stretch of the text that is replaced. Its label is that of the match that begins first, of those the longest. */
interface Region {
  from: number
  to: number
  secret: number
  /** Where the match of `secret` ends. */
  matchTo: number
  /** Its label has been shown. */
  shown: boolean
}

/**
 * Replaces secrets in a text that comes in pieces, in time linear in the text. Each piece is searched as it is, with
 * percent-escapes decoded once, and with them decoded as often as they were encoded. Overlapping matches become one label.
 */
export class SecretScan {
  readonly #label: (secret: number) => string
  readonly #plain: Reading
  readonly #readings: readonly Reading[]
  readonly #decoders: readonly PercentDecoder[]
  /** In order, and none overlaps another. */
  readonly #regions: Region[] = []
  /** Text that has not been shown yet, and its offset in the whole text. */
  #held = ""
  #heldFrom = 0
  /** End of the text that has been read. */
  #end = 0
  /** The first half of a character whose second half is not there yet. */
  #half = -1
  #replaced = false

  /** `decodes`: false for a text that is known to hold no percent-escapes. */
  constructor(patterns: SecretPatterns, label: (secret: number) => string, decodes: boolean) {
    const cover = (from: number, to: number, secret: number): void => this.#cover(from, to, secret)
    const [plain, once, deep] = [0, 1, 2].map(() => new Reading(patterns, cover)) as [Reading, Reading, Reading]
    this.#label = label
    this.#plain = plain
    this.#readings = decodes ? [plain, once, deep] : [plain]
    this.#decoders = !decodes
      ? []
      : [
          new PercentDecoder((byte, from, to) => once.take(byte, from, to), 1),
          new PercentDecoder((byte, from, to) => deep.take(byte, from, to), maxLevels),
        ]
  }

  /** Whether anything has been replaced so far. */
  get replaced(): boolean {
    return this.#replaced
  }

  /** The text that can be shown now: up to where a secret may have begun that is not whole yet. */
  push(piece: string): string {
    this.#held += piece
    for (let at = 0; at < piece.length; at++) this.#read(piece.charCodeAt(at))
    return this.#show(this.#openFrom())
  }

  /** The rest of the text. */
  end(): string {
    if (this.#half >= 0) this.#takeCharacter(this.#half, this.#end - 1)
    this.#half = -1
    for (const decoder of this.#decoders) decoder.end()
    return this.#show(this.#end)
  }

  #read(unit: number): void {
    const at = this.#end++
    const first = this.#half
    this.#half = -1
    if (first >= 0) {
      if (unit >= 0xdc00 && unit <= 0xdfff) {
        this.#takeCharacter(0x10000 + ((first - 0xd800) << 10) + (unit - 0xdc00), at - 1)
        return
      }
      this.#takeCharacter(first, at - 1)
    }
    if (unit >= 0xd800 && unit <= 0xdbff) this.#half = unit
    else if (unit < 0x80) this.#takeByte(unit, at, at + 1)
    else this.#takeCharacter(unit, at)
  }

  /** Half a character alone is written like any other. */
  #takeCharacter(code: number, from: number): void {
    writeUtf8(code, (byte) => this.#takeByte(byte, from, code > 0xffff ? from + 2 : from + 1))
  }

  #takeByte(byte: number, from: number, to: number): void {
    this.#plain.take(byte, from, to)
    for (const decoder of this.#decoders) decoder.push(byte, from, to)
  }

  #openFrom(): number {
    let open = this.#half >= 0 ? this.#end - 1 : this.#end
    for (const { openFrom } of this.#decoders) if (openFrom !== null && openFrom < open) open = openFrom
    for (const reading of this.#readings) open = Math.min(open, reading.openFrom(open))
    return open
  }

  #cover(from: number, to: number, secret: number): void {
    const newest = this.#regions.at(-1)
    if (newest !== undefined && newest.from < from && from < newest.to && newest.to <= to) {
      // The usual case of a text that is like itself: the last region grows.
      newest.to = to
      return
    }
    const later: Region[] = []
    const region = { from, to, secret, matchTo: to, shown: false }
    for (let last = this.#regions.at(-1); last !== undefined && last.to > from; last = this.#regions.at(-1)) {
      this.#regions.pop()
      if (last.from >= to) {
        later.push(last)
        continue
      }
      if (precedes(last, region)) [region.from, region.secret, region.matchTo] = [last.from, last.secret, last.matchTo]
      region.to = Math.max(region.to, last.to)
      region.shown ||= last.shown
    }
    this.#regions.push(region, ...later.toReversed())
    this.#replaced = true
  }

  /** Shows the text before `open`. No match that is still to come begins there, so the labels of its regions are final. */
  #show(open: number): string {
    let shown = ""
    let done = 0
    for (const region of this.#regions) {
      if (region.from >= open) break
      if (!region.shown) shown += this.#take(region.from) + this.#label(region.secret)
      region.shown = true
      this.#take(Math.min(region.to, open))
      // A region at the end of what is known may still grow.
      if (region.to >= open) {
        this.#regions.splice(0, done)
        return shown
      }
      done++
    }
    this.#regions.splice(0, done)
    return shown + this.#take(open)
  }

  /** Takes the held text up to an offset. */
  #take(to: number): string {
    const taken = this.#held.slice(0, to - this.#heldFrom)
    this.#held = this.#held.slice(to - this.#heldFrom)
    this.#heldFrom = to
    return taken
  }
}

function precedes(a: Region, b: Region): boolean {
  return (a.from - b.from || b.matchTo - a.matchTo || a.secret - b.secret) < 0
}

/** One way to read the text, as a sequence of bytes, and where in it the search stands. */
class Reading {
  readonly #patterns: SecretPatterns
  readonly #cover: (from: number, to: number, secret: number) => void
  /**
   * Of the last bytes, in a ring whose size is a power of two: where each begins in the text, times two, plus one for a
   * character of the Base64 alphabets. It holds one more than any match could reach back to.
   */
  #marks = new Float64Array(64)
  #count = 0
  #state = 0
  /** After a Base64 form: how much of `[A-Za-z0-9+/_-]?={0,2}` may still follow; 3 is all of it. */
  #tail = 0
  #tailFrom = 0
  #tailSecret = 0

  constructor(patterns: SecretPatterns, cover: (from: number, to: number, secret: number) => void) {
    this.#patterns = patterns
    this.#cover = cover
  }

  take(byte: number, from: number, to: number): void {
    const { automaton, forms, lengths } = this.#patterns
    const base64 = inBase64[byte] ?? 0
    if (this.#tail > 0) this.#takeTail(byte, base64, to)
    this.#state = automaton.next(this.#state, folded(byte))
    if ((automaton.depth[this.#state] ?? 0) >= this.#marks.length) this.#widen()
    this.#marks[this.#count++ & (this.#marks.length - 1)] = from * 2 + base64
    const found = automaton.longest[this.#state] ?? -1
    // Not left to the lookup below: one at -1 is slow, and this is the usual case.
    if (found < 0) return
    const form = forms[found]
    if (form === undefined) return
    const start = this.#startOf(lengths[found] ?? 0, form.sharedBefore)
    this.#cover(start, to, form.secret)
    if (form.sharedAfter) [this.#tail, this.#tailFrom, this.#tailSecret] = [3, start, form.secret]
  }

  /** Where a form may have begun that is not whole yet; `end` when nowhere. */
  openFrom(end: number): number {
    const depth = this.#patterns.automaton.depth[this.#state] ?? 0
    return Math.min(end, this.#startOf(depth, true, end))
  }

  /** Where the last `length` bytes begin, with the character before them where that is shared; `end` for none. */
  #startOf(length: number, sharedBefore: boolean, end = 0): number {
    const first = this.#count - length
    const before = sharedBefore && first > 0 ? this.#markAt(first - 1) : 0
    if (before % 2 === 1) return (before - 1) / 2
    return length === 0 ? end : Math.floor(this.#markAt(first) / 2)
  }

  #markAt(index: number): number {
    return this.#marks[index & (this.#marks.length - 1)] ?? 0
  }

  #widen(): void {
    const wider = new Float64Array(this.#marks.length * 2)
    const oldest = Math.max(0, this.#count - this.#marks.length)
    for (let index = oldest; index < this.#count; index++) wider[index & (wider.length - 1)] = this.#markAt(index)
    this.#marks = wider
  }

  #takeTail(byte: number, base64: number, to: number): void {
    if (byte === 0x3d) this.#tail = Math.min(this.#tail, 2) - 1
    else if (this.#tail === 3 && base64 === 1) this.#tail = 2
    else {
      this.#tail = 0
      return
    }
    this.#cover(this.#tailFrom, to, this.#tailSecret)
  }
}

const inBase64 = new Uint8Array(256)
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
  inBase64[character.charCodeAt(0)] = 1
}

/** A form turns a space into a plus: the two count as the same. */
function folded(byte: number): number {
  return byte === 0x20 ? 0x2b : byte
}

function bytesOf(text: string): Uint8Array {
  const bytes: number[] = []
  for (const character of text) writeUtf8(character.codePointAt(0) ?? 0, (byte) => bytes.push(folded(byte)))
  return Uint8Array.from(bytes)
}

function writeUtf8(code: number, take: (byte: number) => void): void {
  if (code < 0x80) {
    take(code)
    return
  }
  if (code < 0x800) take(0xc0 | (code >> 6))
  else {
    if (code < 0x10000) take(0xe0 | (code >> 12))
    else {
      take(0xf0 | (code >> 18))
      take(0x80 | ((code >> 12) & 0x3f))
    }
    take(0x80 | ((code >> 6) & 0x3f))
  }
  take(0x80 | (code & 0x3f))
}
