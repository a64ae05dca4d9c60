import { Cron as Croner } from "croner"
import type { Cron } from "../check/cron.ts"
import { isCron, isFixedTime, isTimezone, readCron } from "../check/cron.ts"

// When a schedule is due. `croner` finds the times of a clock on the wall that never changes; the instants of these times, in a
// timezone whose clocks do change, are found here, as Vixie cron has it.

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** When a schedule is due, in milliseconds since 1970. */
export interface Calendar {
  /** The first time after an instant. */
  next(after: number): number
  /** The last time after `after` and not after `until`; null without one. */
  last(after: number, until: number): number | null
  upcoming(after: number, count: number): number[]
  /** RFC 3339, with the offset of the timezone. */
  show(at: number): string
  /** `YYYY-MM-DD` in the timezone. */
  date(at: number): string
}

/** Undefined for a cron expression or a timezone that cannot be read. */
export function calendarOf(cron: string, timezone: string): Calendar | undefined {
  const read = readCron(cron)
  return isCron(read) && isTimezone(timezone) ? new ZonedCalendar(read, timezone) : undefined
}

class ZonedCalendar implements Calendar {
  readonly #wall: Croner
  readonly #zone: Zone
  readonly #isFixed: boolean

  constructor(cron: Cron, timezone: string) {
    this.#wall = new Croner(cron.fields, { timezone: "UTC", mode: "5-part" })
    this.#zone = zoneOf(timezone)
    this.#isFixed = isFixedTime(cron)
  }

  next(after: number): number {
    const zone = this.#zone
    // The start of a stretch of time with one offset, and what the clock on the wall shows there.
    let from = after
    let offset = zone.offset(from)
    let wall = from + offset
    for (;;) {
      const due = this.#nextWall(wall)
      // Far ahead, nothing is due until a day and a half before: offsets differ by 26 hours at most.
      if (due - wall > 4 * 24 * hourMs && zone.change(from, from + 2 * 24 * hourMs) === undefined) {
        from = due - 36 * hourMs
        offset = zone.offset(from)
        wall = from + offset
        continue
      }
      const change = zone.change(from, due - offset)
      if (change === undefined) return due - offset
      const later = zone.offset(change)
      const [stopped, begins] = [change + offset, change + later]
      if (later > offset) {
        // The clocks go forward. A fixed time in the gap is due right after it; the others are skipped.
        if (this.#isFixed && due < begins) return change
        wall = begins - 1
      } else {
        // They go back. A fixed time was due in the first of the two hours; the others are due in both.
        wall = this.#isFixed ? stopped - 1 : begins - 1
      }
      from = change
      offset = later
    }
  }

  last(after: number, until: number): number | null {
    // From the end: a schedule of every minute may have missed half a million times.
    let span = hourMs
    for (;;) {
      const from = Math.max(after, until - span)
      let found: number | null = null
      for (let at = this.next(from); at <= until; at = this.next(at)) found = at
      if (found !== null || from === after) return found
      span *= 8
    }
  }

  upcoming(after: number, count: number): number[] {
    const times: number[] = []
    for (let at = after; times.length < count;) times.push((at = this.next(at)))
    return times
  }

  show(at: number): string {
    const offset = this.#zone.offset(at)
    const wall = new Date(at + offset).toISOString().slice(0, 19)
    if (offset === 0) return `${wall}Z`
    const minutes = Math.round(Math.abs(offset) / minuteMs)
    const pad = (value: number): string => String(value).padStart(2, "0")
    return `${wall}${offset < 0 ? "-" : "+"}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`
  }

  date(at: number): string {
    return new Date(at + this.#zone.offset(at)).toISOString().slice(0, 10)
  }

  /** The next time on the wall that the expression names, as if it were in UTC. */
  #nextWall(after: number): number {
    const next = this.#wall.nextRun(new Date(after))
    if (next === null) throw new Error("The checker let a schedule through that is never due")
    return next.getTime()
  }
}

/** How far the clocks of a timezone are ahead of UTC, in milliseconds. */
class Zone {
  readonly #parts: Intl.DateTimeFormat

  constructor(timezone: string) {
    this.#parts = new Intl.DateTimeFormat("en-US", {
      timeZone: timezone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    })
  }

  offset(at: number): number {
    const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
    const whole = Math.floor(at / 1000) * 1000
    for (const { type, value } of this.#parts.formatToParts(whole)) shown[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
    return Date.UTC(year, month - 1, day, hour, minute, second) - whole
  }

  /** The first instant after `from` and not after `to` that has another offset; undefined without one. */
  change(from: number, to: number): number | undefined {
    const before = this.offset(from)
    for (let at = from; at < to;) {
      const next = Math.min(at + 6 * hourMs, to)
      if (this.offset(next) !== before) return this.#between(at, next, before)
      at = next
    }
    return undefined
  }

  #between(low: number, high: number, before: number): number {
    let [first, last] = [low, high]
    while (last - first > 1) {
      const middle = Math.floor((first + last) / 2)
      if (this.offset(middle) === before) first = middle
      else last = middle
    }
    return last
  }
}

const zones = new Map<string, Zone>()

/** A formatter takes a millisecond to make, and there are some hundred names. */
export function zoneOf(timezone: string): Zone {
  const known = zones.get(timezone)
  if (known !== undefined) return known
  const zone = new Zone(timezone)
  zones.set(timezone, zone)
  return zone
}
