import type { JsonValue } from "../../src/base/json-value.ts"

export interface FieldWith {
  /** `output.report` */
  readonly path: string
  /** The place of the phrase in its text, as it is written there; absent where the words stand there in another way. */
  readonly part?: { readonly from: number; readonly to: number }
}

const maxFields = 6

/** Letters only: how something is written differs between a value and a text about it. */
function plainWords(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
}

/** The fields of a result that have the words of a phrase: those that are nothing else first. */
export function fieldsWith(output: JsonValue, phrase: string): readonly FieldWith[] {
  const wanted = plainWords(phrase)
  if (wanted === "") return []
  const found = leavesWith(output, "output", wanted)
  const fields = [...found.filter(({ isWhole }) => isWhole), ...found.filter(({ isWhole }) => !isWhole)]
  return fields.slice(0, maxFields).map(({ path, text }) => {
    const from = text.indexOf(phrase)
    return from < 0 ? { path } : { path, part: { from, to: from + phrase.length } }
  })
}

interface Leaf {
  readonly path: string
  readonly text: string
  /** It is the phrase, and nothing else. */
  readonly isWhole: boolean
}

function leavesWith(value: JsonValue, path: string, wanted: string): Leaf[] {
  if (typeof value !== "object" || value === null) {
    const text = String(value)
    const plain = plainWords(text)
    return ` ${plain} `.includes(` ${wanted} `) ? [{ path, text, isWhole: plain === wanted }] : []
  }
  return Object.entries(value).flatMap(([key, one]) =>
    leavesWith(one, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, wanted),
  )
}
