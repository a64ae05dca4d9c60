import type { JsonValue } from "../../../base/json-value.ts"
import type { FunctionCall } from "./function-call.ts"

/** A date as it is written: `YYYY-MM-DD`, and after it the time and offset of RFC 3339, where there are any. */
interface WrittenDate {
  /** Days since 1970-01-01, as written. */
  readonly day: number
  /** The same in UTC. */
  readonly utcDay: number
  readonly rest: string
}

const form = /^(\d{4})-(\d\d)-(\d\d)([Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d)))?$/

const dayMs = 24 * 60 * 60 * 1000

/** Undefined for a text that is no date. */
function dateOf(text: string): WrittenDate | undefined {
  const parts = form.exec(text)
  if (parts === null) return undefined
  const [year = 0, month = 0, dayOfMonth = 0] = parts.slice(1, 4).map(Number)
  const day = dayOf(year, month, dayOfMonth)
  if (day === undefined) return undefined
  const [, , , , rest = "", hour = "0", minute = "0", second = "0", sign = "+", offsetHour = "0", offsetMinute = "0"] =
    parts
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === "-" ? -1 : 1)
  const minutes = Number(hour) * 60 + Number(minute) - offset
  return { day, utcDay: day + Math.floor(minutes / (24 * 60)), rest }
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
  const date = new Date((day + call.integerAt(1)) * dayMs)
  const year = date.getUTCFullYear()
  // Also refuses what `Date` cannot hold.
  if (!(year >= 0 && year <= 9999)) return call.fail("the years of dates go from 0000 to 9999")
  const two = (number: number): string => String(number).padStart(2, "0")
  const written = `${String(year).padStart(4, "0")}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`
  return call.madeText(`${written}${rest}`)
}

export function daysBetween(call: FunctionCall): JsonValue {
  return dateAt(call, 1).utcDay - dateAt(call, 0).utcDay
}

const days = ["thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday"]

export function weekday(call: FunctionCall): JsonValue {
  const { utcDay } = dateAt(call, 0)
  return days[((utcDay % 7) + 7) % 7] ?? null
}
