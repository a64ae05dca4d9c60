import { parseInOrder } from "./ordered-object.ts"
import type { JsonValue } from "./json-value.ts"
import { maxJsonWork } from "./limits.ts"

// The bounds of JSON that others wrote: how deep it is nested, and how much work its values are. How much work it is to read the values in a JSON text. It is counted before the text is parsed: three bytes of text (`{},`)
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

/** The characters that matter within a string. */
const specials = [quote, backslash, lineFeed, carriageReturn]
const specialTexts = String.fromCharCode(...specials)

/** This many characters of a string are read one by one; then the next special character is searched for, which takes longer to begin. */
const oneByOne = 32

/** Bytes, or the UTF-16 units of a text. */
type Units = Uint8Array | string

function unitAt(units: Units, at: number): number {
  return typeof units === "string" ? units.charCodeAt(at) : (units[at] ?? 0)
}

/**
 * Finds the next special character from a place on. Remembers the places that it found: all searches together read the text once for
 * each kind, however many strings it has.
 */
class NextSpecial {
  readonly #units: Units
  readonly #next = specials.map(() => -1)

  constructor(units: Units) {
    this.#units = units
  }

  from(start: number): number {
    const units = this.#units
    let nearest = units.length
    for (let kind = 0; kind < specials.length; kind++) {
      let place = this.#next[kind] ?? -1
      if (place < start) {
        place =
          typeof units === "string"
            ? units.indexOf(specialTexts[kind] ?? "", start)
            : units.indexOf(specials[kind] ?? 0, start)
        if (place < 0) place = units.length
        this.#next[kind] = place
      }
      if (place < nearest) nearest = place
    }
    return nearest
  }
}

/** Counts the work of a JSON text that comes in pieces. The lines of a server-sent event may be around it. */
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
  readonly #most: number

  constructor(most: number = maxJsonWork) {
    this.#most = most
  }

  /** Another text begins. */
  begin(): void {
    this.work = 0
    this.#inString = false
    this.#forNew = 0
    this.#escaped = false
    this.#keys = 0
    this.#around.length = 0
  }

  /** A piece of one text. False where the text is more work than it may be. */
  add(bytes: Uint8Array): boolean {
    this.#read(bytes)
    return this.work <= this.#most
  }

  addText(text: string): void {
    this.#read(text)
  }

  #read(units: Units): void {
    const next = new NextSpecial(units)
    for (let at = 0; at < units.length;) {
      if (this.#inString) at = this.#readString(units, at, next)
      else this.#take(unitAt(units, at++))
    }
  }

  /** Reads on in a string; returns the place after what it read. */
  #readString(units: Units, start: number, next: NextSpecial): number {
    let at = start
    let length = this.#length
    let hash = this.#hash
    let escaped = this.#escaped
    let plain = 0
    while (at < units.length) {
      const unit = unitAt(units, at++)
      if (++length <= shortText + 1) hash = Math.imul(hash ^ unit, 0x9e3779b1)
      if (escaped) escaped = false
      else if (unit === backslash) escaped = true
      // No string goes beyond a line. A line of events that is not JSON may leave one open.
      else if (unit === quote || unit === lineFeed || unit === carriageReturn) {
        this.#inString = false
        break
      } else if (++plain >= oneByOne) {
        const special = next.from(at)
        length += special - at
        at = special
        plain = 0
      }
    }
    this.#length = length
    this.#hash = hash
    this.#escaped = escaped
    // The quote is one of the bytes.
    if (!this.#inString && length <= shortText + 1) this.#shortText()
    return at
  }

  /** A character outside of strings. */
  #take(unit: number): void {
    if (unit === quote) {
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
export function isTooMuchJson(text: string, most: number = maxJsonWork): boolean {
  // No value takes fewer than two characters, nor counts for more than that many keys.
  if (text.length < (2 * most) / perKeyOfMany) return false
  const counter = new JsonWork()
  counter.addText(text)
  return counter.work > most
}

/** The value of a JSON text, whatever work it is; undefined for a text that is not JSON. */
export function jsonOf(text: string): JsonValue | undefined {
  try {
    return parseInOrder(text) as JsonValue
  } catch {
    return undefined
  }
}

/** The same; undefined also for a text that is more work than it may be. */
export function boundedJson(text: string, most: number = maxJsonWork): JsonValue | undefined {
  return isTooMuchJson(text, most) ? undefined : jsonOf(text)
}

/** Whether arrays and objects are nested more than so many levels deep. It goes no deeper itself. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  // Plain loops that do not enter scalars: a value may have millions of them.
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) {
      if (typeof item === "object" && isDeeper(item, levels - 1)) return true
    }
    return false
  }
  const fields = value as Readonly<Record<string, unknown>>
  for (const key in fields) {
    const item = fields[key]
    if (typeof item === "object" && isDeeper(item, levels - 1)) return true
  }
  return false
}
