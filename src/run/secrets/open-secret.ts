import { Buffer } from "node:buffer"

/**
 * Whether what a text has from `at` to its end is the beginning of a secret that is not whole yet, in any mixture of plain
 * and percent-encoded characters, encoded once or more, a space also as `+`.
 */
export function beginsEncoded(text: string, at: number, characters: readonly string[], first = 0): boolean {
  let place = at
  for (let index = first; index < characters.length; index++) {
    if (place >= text.length) return true
    const character = characters[index] ?? ""
    if (text[place] === "%") {
      if (encodedEnds(text, place, character).some((end) => beginsEncoded(text, end, characters, index + 1)))
        return true
      if (character !== "%") return false
    } else if (!text.startsWith(character, place) && !(character === " " && text[place] === "+")) {
      // The first half of a character at the very end.
      return place + 1 === text.length && character.startsWith(text.slice(place))
    }
    place += character.length
  }
  // All of its characters are there, unless the last one is cut off.
  return place > text.length
}

/** Where one percent-encoded character that begins at `at` can end; past the text's end where it is cut off. */
function encodedEnds(text: string, at: number, character: string): number[] {
  let ends = [at]
  for (const byte of Buffer.from(character, "utf8")) {
    const hex = byte.toString(16).padStart(2, "0")
    ends = ends.flatMap((from) => byteEnds(text, from, hex))
  }
  return ends
}

function byteEnds(text: string, at: number, hex: string): number[] {
  if (at >= text.length) return [text.length + 1]
  if (text[at] !== "%") return []
  const ends: number[] = []
  for (let place = at + 1; ; place += 2) {
    const two = text.slice(place, place + 2).toLowerCase()
    if (two.length < 2) {
      const cutOff = hex.startsWith(two) || "25".startsWith(two)
      return cutOff ? [...ends, text.length + 1] : ends
    }
    if (two === hex) ends.push(place + 2)
    if (two !== "25") return ends
  }
}

const inBase64 = /[A-Za-z0-9+/_-]/
const mayEndBase64 = /^[A-Za-z0-9+/_-]?=?$/

/** The same for a form that is written in one way; `mixed`: at its ends stand characters that it shares with others. */
export function beginsLiteral(
  text: string,
  at: number,
  form: string,
  mixed: { readonly before: boolean; readonly after: boolean },
): boolean {
  if (opens(text, at, form, mixed.after)) return true
  return mixed.before && inBase64.test(text[at] ?? "") && opens(text, at + 1, form, mixed.after)
}

function opens(text: string, at: number, form: string, mixedAfter: boolean): boolean {
  const left = text.length - at
  if (left < form.length) return form.startsWith(text.slice(at))
  return (
    mixedAfter &&
    left <= form.length + 2 &&
    text.startsWith(form, at) &&
    mayEndBase64.test(text.slice(at + form.length))
  )
}
