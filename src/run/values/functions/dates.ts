import type { JsonValue } from "../../../base/json-value.ts"
import { isTimezone } from "../../../check/cron.ts"
import { zoneOf } from "../../../plan/schedule-times.ts"
import type { FunctionCall } from "./function-call.ts"

/** A date as it is written: `YYYY-MM-DD`, and after it the time and offset of RFC 3339, where there are any. */
interface WrittenDate {
  /** Days since 1970-01-01, as written. */
  readonly day: number
  /** The same in UTC. */
  readonly utcDay: number
  /** Milliseconds of the day, as written. */
  readonly timeMs: number
  readonly offsetMs: number
  readonly rest: string
}

const form = /^(\d{4})-(\d\d)-(\d\d)([Tt](\d\d):(\d\d):(\d\d)(\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d)))?$/

const dayMs = 24 * 60 * 60 * 1000

/** Undefined for a text that is no date. */
function dateOf(text: string): WrittenDate | undefined {
  const parts = form.exec(text)
  if (parts === null) return undefined
  const [year = 0, month = 0, dayOfMonth = 0] = parts.slice(1, 4).map(Number)
  const day = dayOf(year, month, dayOfMonth)
  if (day === undefined) return undefined
  const [rest = "", hour = "0", minute = "0", second = "0", fraction = "0"] = parts.slice(4)
  const [sign = "+", offsetHour = "0", offsetMinute = "0"] = parts.slice(9)
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === "-" ? -1 : 1)
  const minutes = Number(hour) * 60 + Number(minute) - offset
  const timeMs = (Number(hour) * 60 + Number(minute)) * 60_000 + Math.floor((Number(second) + Number(fraction)) * 1000)
  return { day, utcDay: day + Math.floor(minutes / (24 * 60)), timeMs, offsetMs: offset * 60_000, rest }
}

function dayOf(year: number, month: number, dayOfMonth: number): number | undefined {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, dayOfMonth)
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === dayOfMonth
  return isReal ? date.getTime() / dayMs : undefined
}

/** Reading a date takes as long as copying this many characters. */
const perDate = 1536

function dateAt(call: FunctionCall, at: number): WrittenDate {
  const text = call.text(at)
  call.spend(text.length + perDate)
  return dateOf(text) ?? call.fail("a date is YYYY-MM-DD, or a time as in RFC 3339, found other text")
}

export function addDays(call: FunctionCall): JsonValue {
  const { day, rest } = dateAt(call, 0)
  return call.madeText(`${wallAt(call, (day + call.integerAt(1)) * dayMs).slice(0, 10)}${rest}`)
}

/** `2026-11-18T09:30:00.000` */
function wallAt(call: FunctionCall, ms: number): string {
  const date = new Date(ms)
  const year = date.getUTCFullYear()
  // Also refuses what `Date` cannot hold.
  if (!(year >= 0 && year <= 9999)) return call.fail("the years of dates go from 0000 to 9999")
  return date.toISOString().slice(0, -1)
}

/** The instant of a date: a day alone is midnight in UTC. */
function instantOf({ day, timeMs, offsetMs }: WrittenDate): number {
  return day * dayMs + timeMs - offsetMs
}

export function addSeconds(call: FunctionCall): JsonValue {
  const { day, timeMs, rest } = dateAt(call, 0)
  const wall = wallAt(call, day * dayMs + timeMs + Math.round(call.number(1) * 1000))
  const isFraction = rest.includes(".") || !wall.endsWith(".000")
  return call.madeText(`${wall.slice(0, isFraction ? undefined : -4)}${/(?:[Zz]|[+-][\d:]+)$/.exec(rest)?.[0] ?? "Z"}`)
}

export function secondsBetween(call: FunctionCall): JsonValue {
  return (instantOf(dateAt(call, 1)) - instantOf(dateAt(call, 0))) / 1000
}

/** Finding out how late it is in a timezone takes as long as copying this many characters. */
const perZone = 8192

/** The date on the clocks of a timezone, by the position of the argument that names it. */
function wallIn(call: FunctionCall, zoneAt: number): string {
  const at = instantOf(dateAt(call, 0))
  if (call.count <= zoneAt) return wallAt(call, at)
  const zone = call.text(zoneAt)
  if (!isTimezone(zone)) return call.fail(`there is no timezone ${zone}`)
  call.spend(perZone)
  return wallAt(call, at + zoneOf(zone).offset(at))
}

export function dateIn(call: FunctionCall): JsonValue {
  return call.madeText(wallIn(call, 1).slice(0, 10))
}

const months = "January February March April May June July August September October November December".split(" ")

export function formatDate(call: FunctionCall): JsonValue {
  const wall = wallIn(call, 2)
  const [month, dayOfWeek] = [months[Number(wall.slice(5, 7)) - 1] ?? "", new Date(`${wall}Z`).getUTCDay()]
  const name = days[(dayOfWeek + 3) % 7] ?? ""
  const weekdayName = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
  const parts: Readonly<Record<string, string>> = {
    yyyy: wall.slice(0, 4),
    MM: wall.slice(5, 7),
    MMM: month.slice(0, 3),
    MMMM: month,
    dd: wall.slice(8, 10),
    HH: wall.slice(11, 13),
    mm: wall.slice(14, 16),
    ss: wall.slice(17, 19),
    EEE: weekdayName.slice(0, 3),
    EEEE: weekdayName,
  }
  const shape = call.text(1)
  call.spend(shape.length * 16)
  call.checkSize(shape.length * 3)
  return call.madeText(shape.replaceAll(/yyyy|M{2,4}|dd|HH|mm|ss|E{3,4}/g, (part) => parts[part] ?? part))
}

export function daysBetween(call: FunctionCall): JsonValue {
  return dateAt(call, 1).utcDay - dateAt(call, 0).utcDay
}

const days = ["thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday"]

export function weekday(call: FunctionCall): JsonValue {
  const { utcDay } = dateAt(call, 0)
  return days[((utcDay % 7) + 7) % 7] ?? null
}
