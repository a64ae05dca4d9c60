import type { JsonValue } from "./json-value.ts"

// Text that others wrote, as it may be printed or written: nothing in it moves a cursor, begins a line of its own, turns the
// direction of writing, or hides.

/**
 * Characters that are not seen as themselves: controls, line and paragraph separators, those that turn the direction, and those of no
 * width (format characters, variation selectors, fillers, tags); halves of surrogate pairs. Signs of Arabic and Kaithi numbers are visible.
 */
const hidden =
  /(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800\ufff9-\ufffb]/gu

/** The same, and every blank but the usual one: where two texts that look alike must not be alike. */
const unclear = (): RegExp => new RegExp(`${hidden.source}|(?! )\\p{Zs}`, "gu")

/** One line: line breaks and all that cannot be seen are escaped (`\n`, `\u202e`), a tab is a blank. */
export function visibleText(text: string): string {
  return escapeHidden(
    text,
    (code, character) => shortForms[character] ?? (code > 0xffff ? `\\u{${code.toString(16)}}` : inJson(character)),
  )
}

const shortForms: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": " " }

/** Most texts have no other characters, which a search for them says much faster. */
const notPlain = /[^ -~]/
const notPlainLines = /[^\n -~]/

/** The text with something written in place of each character that cannot be seen. */
export function escapeHidden(text: string, write: (code: number, character: string, at: number) => string): string {
  if (!notPlain.test(text)) return text
  return text.replaceAll(hidden, (character, at: number) =>
    joins(text, at) ? character : write(character.codePointAt(0) ?? 0, character, at),
  )
}

/** The same over several lines: line feeds stay. */
export function visibleLines(text: string): string {
  return text
    .split(/\r\n|\n/)
    .map(visibleText)
    .join("\n")
}

/** JSON of the same value, with escapes for what cannot be seen. */
export function visibleJson(value: JsonValue | object, indent = 0): string {
  return visibleInJson(JSON.stringify(value, null, indent))
}

/** The same for a text that is JSON already. */
export function visibleInJson(json: string): string {
  // Line feeds are the layout's: JSON escapes those of texts.
  if (!notPlainLines.test(json)) return json
  return escapeHidden(json, (_, character) => (character === "\n" ? character : inJson(character)))
}

/** JSON for a person who decides by it: joiners, variants and unusual blanks are escaped, too. */
export function exactJson(value: JsonValue, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll(unclear(), (character) =>
    character === "\n" ? character : inJson(character),
  )
}

/** For models and lists: what cannot be seen is taken out; tabs and line feeds stay. */
export function withoutHidden(text: string): string {
  return escapeHidden(text.toWellFormed().replaceAll(/\r\n?/g, "\n"), (_, character) =>
    character === "\t" || character === "\n" ? character : "",
  )
}

/**
 * Whether a character of no width does its work at a place: it joins emoji, makes one of a sign, or shapes the letters of a script
 * that needs it.
 */
function joins(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code !== 0x200c && code !== 0x200d && code !== 0xfe0e && code !== 0xfe0f) return false
  const before = /[^]$/u.exec(text.slice(Math.max(0, at - 2), at))?.[0] ?? ""
  const after = String.fromCodePoint(text.codePointAt(at + 1) ?? 0)
  if (code === 0xfe0e || code === 0xfe0f) {
    return /[0-9#*]/.test(before) ? after === "\u20e3" : /\p{Emoji}/u.test(before)
  }
  if (code === 0x200d && /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]/u.test(before)) {
    return /\p{Extended_Pictographic}/u.test(after)
  }
  return joiningLetter.test(before)
}

const joiningLetter =
  /(?=[\p{L}\p{M}])[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Nkoo}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}]/u

/** The character as an escape of JSON. */
function inJson(character: string): string {
  let text = ""
  for (let at = 0; at < character.length; at++) {
    text += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
  }
  return text
}
