const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `500ms`, `30s`, `15m`, `1h`, `7d` → milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? []
  const factor = unit === undefined ? undefined : units[unit]
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor
}
