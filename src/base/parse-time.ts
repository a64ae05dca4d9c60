const form = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/i

/** Milliseconds since the epoch of a date and time as RFC 3339 writes it; undefined for every other text. */
export function parseTime(text: string): number | undefined {
  const [, day] = form.exec(text) ?? []
  if (day === undefined || !isDay(day)) return undefined
  const time = Date.parse(text.toUpperCase())
  return Number.isNaN(time) ? undefined : time
}

/** `Date.parse` takes the 30th of February for the 2nd of March. */
function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day)
}
