import { canonicalJson } from "../base/canonical-json.ts"
import { cutText } from "../base/cut-text.ts"
import { diffList } from "../base/diff-list.ts"
import type { JsonValue } from "../base/json-value.ts"

/** Lines that did not change and are shown around one that did. */
const context = 2

const longText = 60

/** Whether two values are worth a difference: objects, arrays and long texts are, a number is shown as it is. */
export function deservesDifference(left: JsonValue, right: JsonValue): boolean {
  return isLarge(left) && isLarge(right)
}

function isLarge(value: JsonValue): boolean {
  return typeof value === "string" ? value.length > longText || value.includes("\n") : isParted(value)
}

function isParted(value: JsonValue): boolean {
  return typeof value === "object" && value !== null
}

/** Lines with `-` for what was expected and `+` for what was found, and a few around them. */
export function showDifference(expected: JsonValue, found: JsonValue): string[] {
  if (isLine(expected) && isLine(found)) return [showWords(expected, found)]
  return showLines(linesOf(expected), linesOf(found))
}

function isLine(value: JsonValue): value is string {
  return typeof value === "string" && !value.includes("\n")
}

export function showLines(expected: readonly string[], found: readonly string[]): string[] {
  const all = diffList(expected, found)
  const shown = new Set<number>()
  for (const [index, { change }] of all.entries()) {
    if (change === "same") continue
    for (let near = index - context; near <= index + context; near++) shown.add(near)
  }
  const lines: string[] = []
  let skipped = false
  for (const [index, { change, item }] of all.entries()) {
    if (!shown.has(index)) {
      skipped = true
      continue
    }
    if (skipped) lines.push("  …")
    skipped = false
    lines.push(`${change === "same" ? " " : change === "removed" ? "-" : "+"} ${cutText(item, 300)}`)
  }
  if (skipped && lines.length > 0) lines.push("  …")
  return lines
}

function linesOf(value: JsonValue): string[] {
  return (typeof value === "string" ? value : sortedJson(value)).split("\n")
}

/** JSON over several lines, keys in order. */
export function sortedJson(value: JsonValue): string {
  return JSON.stringify(JSON.parse(canonicalJson(value)), null, 2)
}

/** One line of words: `The site is [-down-]{+up+}`. */
function showWords(expected: string, found: string): string {
  const all = diffList(expected.split(/(?<=\s)/), found.split(/(?<=\s)/))
  let text = ""
  for (let index = 0; index < all.length;) {
    const { change } = all[index] ?? { change: "same" }
    let run = ""
    while (index < all.length && all[index]?.change === change) run += all[index++]?.item ?? ""
    if (change === "same") text += run.length > 80 ? `${run.slice(0, 30)} … ${run.slice(-30)}` : run
    else text += change === "removed" ? `[-${run}-]` : `{+${run}+}`
  }
  return text
}
