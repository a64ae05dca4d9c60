// How much work it is to read the values in a JSON text. It is counted before the text is parsed: three bytes of text (`{},`)
// are an object that takes 50 times as long to make, check, copy and write as three characters.

/** An array or object; any other value counts 1. */
const perContainer = 3

/** Objects with more keys are dictionaries, where every further key takes that much. */
const manyKeys = 1000
const perKeyOfMany = 25

/**
 * A key whose hash is its length: V8 compares it with every other key of that length, and 500 of them take as long as 10,000,000
 * characters.
 */
const longKey = 16_383
const perLongKey = 10_000

/**
 * V8 keeps one copy of each text of up to 10 characters, and looks for it: that takes five times as long as making a longer one. Only new
 * texts count for more, and only where there are many.
 */
const shortText = 10
const manyTexts = 1000
const perNewText = 4
/** Hashes of texts that were there before. Others may take the place of one: it counts again. */
const rememberedHashes = 0x10000

/** The most work that one text may be: about 100 ms. */
export const mostJsonWork = 1_000_000

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Counts the work of a JSON text that comes in pieces of UTF-8. The lines of server-sent events may be around it. */
export class JsonWork {
  work = 0
  /** The most arrays and objects that stood in each other. */
  deepest = 0
  #inString = false
  #escaped = false
  /** Bytes of the string that was last, or is being read. */
  #length = 0
  #hash = 0
  /** Short texts and keys so far, and the hashes of those after the first 1,000. */
  #texts = 0
  /** What the last one counted for being new: keys count in their own way. */
  #forNew = 0
  #seen: Int32Array | null = null
  /** Keys of the innermost object, then of those around it. */
  #keys = 0
  readonly #around: number[] = []
  /** Of events: nothing has come since the last line break. */
  #atLineStart = true

  readonly #most: number

  constructor(most = mostJsonWork) {
    this.#most = most
  }

  /** Another text begins. */
  #reset(): void {
    this.work = 0
    this.#inString = false
    this.#forNew = 0
    this.#escaped = false
    this.#keys = 0
    this.#around.length = 0
  }

  /** A piece of one text. False where the text is more work than it may be. */
  add(bytes: Uint8Array): boolean {
    for (const unit of bytes) this.#take(unit)
    return this.work <= this.#most
  }

  addText(text: string): void {
    for (let at = 0; at < text.length; at++) this.#take(text.charCodeAt(at))
  }

  /** Server-sent events, each of which is a text of its own. False where one is more work than it may be. */
  addEvents(bytes: Uint8Array): boolean {
    for (const unit of bytes) {
      if (unit === lineFeed) {
        if (this.#atLineStart) this.#reset()
        this.#atLineStart = true
      } else if (unit !== carriageReturn) this.#atLineStart = false
      this.#take(unit)
      if (this.work > this.#most) return false
    }
    return true
  }

  #take(unit: number): void {
    if (this.#inString) {
      if (++this.#length <= shortText + 1) this.#hash = Math.imul(this.#hash ^ unit, 0x9e3779b1)
      if (this.#escaped) this.#escaped = false
      else if (unit === backslash) this.#escaped = true
      // No string goes beyond a line. A line of events that is not JSON may leave one open.
      else if (unit === quote || unit === lineFeed || unit === carriageReturn) {
        this.#inString = false
        // The quote is one of the bytes.
        if (this.#length <= shortText + 1) this.#shortText()
      }
    } else if (unit === quote) {
      this.#inString = true
      this.#length = 0
      this.#hash = 0
      this.#forNew = 0
    } else if (unit === comma) this.work++
    else if (unit === colon) {
      if (++this.#keys > manyKeys) this.work += perKeyOfMany
      if (this.#length > longKey) this.work += perLongKey
      this.work -= this.#forNew
      this.#length = 0
      this.#forNew = 0
    } else if (unit === openBrace || unit === openBracket) {
      this.work += perContainer
      const depth = this.#around.push(this.#keys)
      if (depth > this.deepest) this.deepest = depth
      this.#keys = 0
    } else if (unit === closeBrace || unit === closeBracket) this.#keys = this.#around.pop() ?? 0
  }

  #shortText(): void {
    if (++this.#texts <= manyTexts) return
    this.#seen ??= new Int32Array(rememberedHashes)
    const place = (this.#hash ^ (this.#hash >>> 16)) & (rememberedHashes - 1)
    if (this.#seen[place] === this.#hash) return
    this.#seen[place] = this.#hash
    this.#forNew = perNewText
    this.work += perNewText
  }
}

/** Whether a JSON text is more work than one may be. */
export function isTooMuchJson(text: string, most = mostJsonWork): boolean {
  // No value takes fewer than two characters, nor counts for more than that many keys.
  if (text.length < (2 * most) / perKeyOfMany) return false
  const counter = new JsonWork()
  counter.addText(text)
  return counter.work > most
}
