/** Waits are never longer, whatever a backend asks for. */
export const longestWait = 60_000
const longestBackoff = 30_000

/**
 * How long to wait before the next attempt: as long as the backend says, else a random time below a bound that doubles
 * with each retry ("full jitter"), so that callers who failed together do not come back together.
 */
export function retryDelay(retry: number, baseMs: number, retryAfterMs: number | null, fraction: number): number {
  if (retryAfterMs !== null) return Math.min(retryAfterMs, longestWait)
  return Math.round(fraction * Math.min(longestBackoff, baseMs * 2 ** Math.min(retry, 20)))
}

/** Milliseconds from now that the headers ask to wait; null when they do not say. */
export function readRetryAfter(headers: Readonly<Record<string, string>>, now: number): number | null {
  const precise = headers["retry-after-ms"]
  if (precise !== undefined && /^\d+(\.\d+)?$/.test(precise.trim())) return Number(precise)
  const value = headers["retry-after"]?.trim()
  if (value === undefined || value === "") return null
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}

/** Milliseconds until requests or tokens are left again, where OpenAI's headers say that none are; null otherwise. */
export function readExhausted(headers: Readonly<Record<string, string>>): number | null {
  const waits = ["requests", "tokens"].flatMap((kind) => {
    if (headers[`x-ratelimit-remaining-${kind}`]?.trim() !== "0") return []
    const ms = readSpan(headers[`x-ratelimit-reset-${kind}`]?.trim() ?? "")
    return ms === null ? [] : [ms]
  })
  return waits.length === 0 ? null : Math.max(...waits)
}

const unitMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** `6m0s`, `1.5s`, `20ms`; plain numbers are seconds. */
function readSpan(text: string): number | null {
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) return Number(text) * 1000
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[dhms])){1,5}$/.test(text)) return null
  return [...text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(ms|[dhms])/g)].reduce(
    (sum, [, number, unit = ""]) => sum + Number(number) * (unitMs[unit] ?? 0),
    0,
  )
}
