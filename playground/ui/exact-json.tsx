import type { ComponentChildren } from "preact"
import type { JsonValue } from "../../src/base/json-value.ts"
import { exactJson } from "../../src/base/visible-text.ts"
import { Marked } from "./visible-text.tsx"

interface ExactJsonProps {
  readonly value: JsonValue
  readonly label: string
}

/**
 * A value for a person who decides by it: JSON with all of its levels, quotes and escapes. Nothing in it can look like something else, or
 * be folded away.
 */
export function ExactJson({ value, label }: ExactJsonProps) {
  return (
    <pre class="exact-json" dir="ltr" role="group" aria-label={label}>
      {tokensOf(exactJson(value, 2))}
    </pre>
  )
}

/** The same for one text, in a line. */
export function ExactText({ value }: { readonly value: string }) {
  return <span dir="ltr">{tokensOf(exactJson(value))}</span>
}

/** A longer text has no colours: their elements would take seconds to make. */
const longestColoured = 20_000

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** Strings, each for itself, since they may run from right to left, and what is between them. */
function tokensOf(json: string): ComponentChildren[] {
  const coloured = json.length <= longestColoured
  const parts: ComponentChildren[] = []
  let from = 0
  for (const { 0: token, index } of json.matchAll(/"(?:[^"\\]|\\.)*"|true|false|null|-?\d[\d.eE+-]*/g)) {
    const isString = token.startsWith('"')
    if (!coloured && !(isString && (token.includes("\\") || rightToLeft.test(token)))) continue
    const end = index + token.length
    const sort = !isString ? "number" : json[end] === ":" ? "key" : "string"
    parts.push(
      json.slice(from, index),
      <span key={index} class={sort} dir="ltr">
        {marked(token)}
      </span>,
    )
    from = end
  }
  return [...parts, json.slice(from)]
}

/** The escapes of a string of JSON stand out; those of quotes and backslashes are seen as they are. */
function marked(string: string): ComponentChildren[] {
  return string
    .split(/(\\["\\]|\\u[0-9a-f]{4}|\\[bfnrt])/)
    .map((part, index) =>
      index % 2 === 0 || part === '\\"' || part === "\\\\" ? (
        part
      ) : (
        <Marked key={index} text={part} title="An escape in place of a character" />
      ),
    )
}
