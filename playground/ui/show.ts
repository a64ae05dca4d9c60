import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import { isFileValue } from "../../src/types/file-value.ts"

/** Numbers and times as the page writes them, the same in every locale. */

const grouped = new Intl.NumberFormat("en")

export function showNumber(value: number): string {
  return grouped.format(value)
}

/** `1,204`, `123k`, `4.56M`: where the last digits say nothing. Details have the whole number. */
export function shortNumber(value: number): string {
  if (value < 100_000) return showNumber(value)
  const [part, unit] =
    value < 999_500 ? [value / 1_000, "k"] : value < 999_500_000 ? [value / 1e6, "M"] : [value / 1e9, "G"]
  return `${part < 10 ? part.toFixed(2) : part < 99.95 ? part.toFixed(1) : part.toFixed(0)}${unit}`
}

/** `812 ms`, `2.4 s`, `3 min 5 s`. */
export function showDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(Math.floor(ms / 10) / 100).toFixed(2)} s`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  const seconds = Math.floor((ms % 60_000) / 1_000)
  return minutes < 60 ? `${minutes} min ${seconds} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `cost 0.0123`, in the currency of the workflow's prices; nothing where it is not known, or nothing was spent. */
export function showCost(cost: number | null | undefined): string {
  return cost === null || cost === undefined || cost === 0 ? "" : `cost ${costNumber(cost)}`
}

/** Up to six decimals. */
export function costNumber(cost: number): string {
  return cost.toFixed(6).replace(/\.?0+$/, "")
}

/** `1,204 tokens`; of a run whose end cut calls off `at least 1,204 tokens`, or that nothing is known. */
export function showTokens(tokens: number, cutOff = 0, unit = "tokens"): string {
  if (cutOff === 0) return tokens === 0 ? "" : `${shortNumber(tokens)} ${unit}`
  return tokens === 0 ? "usage unknown" : `at least ${shortNumber(tokens)} ${unit}`
}

export function showBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} kB`
  return `${(bytes / 1_048_576).toFixed(1)} MB`
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${showNumber(count)} ${count === 1 ? one : many}`
}

export function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

/** `14:03:27`, of a wall clock time. */
export function showTime(at: number): string {
  const date = new Date(at)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":")
}

/** `15 Nov, 14:03:27`. */
export function showMoment(at: number): string {
  const date = new Date(at)
  const month = date.toLocaleString("en", { month: "short" })
  return `${date.getDate()} ${month}, ${showTime(at)}`
}

/** A JSON value in one line, for a list: `name: Ada, count: 3`. */
export function showPreview(value: JsonValue, most = 160): string {
  const text = isJsonObject(value)
    ? Object.entries(value)
        .slice(0, 20)
        .map(([key, one]) => `${key}: ${leafText(one)}`)
        .join(", ")
    : leafText(value)
  const line = text.replace(/\s+/g, " ")
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

function leafText(value: JsonValue): string {
  const text = typeof value === "string" ? value : isFileValue(value) ? value.name : JSON.stringify(value)
  return text.length > 200 ? text.slice(0, 200) : text
}

/** With its day, where that is not today or the coming night. */
export function showSoon(at: number): string {
  return at - Date.now() < 12 * 3_600_000 ? showTime(at) : showMoment(at).replace(/:\d\d$/, "")
}
