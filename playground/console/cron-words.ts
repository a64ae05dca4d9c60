import type { Cron, CronField } from "../../src/check/cron.ts"
import { isCron, readCron } from "../../src/check/cron.ts"

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
const months = "January February March April May June July August September October November December".split(" ")

/** More than these in a row are harder to read than the expression. */
const maxNamed = 4

/** `Monday to Friday at 09:00` for `0 9 * * 1-5`; undefined for an expression that reads no better in words. */
export function cronWords(expression: string): string | undefined {
  const cron = readCron(expression)
  if (!isCron(cron)) return undefined
  const time = timeOf(cron)
  const days = daysOf(cron)
  const within = monthsOf(cron.month)
  if (time === undefined || days === undefined || within === undefined) return undefined
  const isAt = time.startsWith("at ")
  const day = days === "" && isAt ? "every day" : days
  const words = (isAt ? [`${day} ${time}`, within] : [time, day, within]).filter((part) => part !== "").join(", ")
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}

/** `at 09:00 and 17:00`, `every 15 minutes from 09:00 to 17:59`. */
function timeOf({ minute, hour }: Cron): string | undefined {
  const minutes = sorted(minute)
  const hours = sorted(hour)
  const [first = 0] = minutes
  const [from = 0] = hours
  const until = hours.at(-1) ?? 0
  if (minutes.length === 1) {
    const past = first === 0 ? "" : ` at minute ${first}`
    if (hours.length === 24) return `every hour${past}`
    const step = stepOf(hours, 24)
    if (step !== undefined && hours.length > 2) return `every ${step} hours${past}`
    if (hours.length > 2 && isRow(hours)) return `every hour from ${clock(from, first)} to ${clock(until, first)}`
  }
  const times = hours.flatMap((one) => minutes.map((past) => clock(one, past)))
  if (times.length <= maxNamed) return `at ${listed(times)}`
  const step = stepOf(minutes, 60)
  if (step === undefined || !isRow(hours)) return undefined
  const often = step === 1 ? "every minute" : `every ${step} minutes`
  return hours.length === 24 ? often : `${often} from ${clock(from, 0)} to ${clock(until, minutes.at(-1) ?? 0)}`
}

/** `Monday to Friday`, `on day 1 of the month`; empty for every day. */
function daysOf({ day, weekday }: Cron): string | undefined {
  // With both, either of them fits.
  if (!day.isAny && !weekday.isAny) return undefined
  if (!weekday.isAny) {
    // The week begins on Monday.
    const days = [...new Set(sorted(weekday).map((one) => (one % 7 === 0 ? 7 : one)))].sort((a, b) => a - b)
    if (days.length === 7) return ""
    const names = days.map((one) => weekdays[one % 7] ?? "")
    if (days.length > 2 && isRow(days)) return `${names[0]} to ${names.at(-1)}`
    return names.length > maxNamed ? undefined : `on ${listed(names)}`
  }
  const days = sorted(day)
  if (days.length === 31) return ""
  if (days.length > 2 && isRow(days)) return `on days ${days[0]} to ${days.at(-1)} of the month`
  if (days.length > maxNamed) return undefined
  return `on ${days.length === 1 ? "day" : "days"} ${listed(days.map(String))} of the month`
}

/** `in January and July`; empty for every month. */
function monthsOf(field: CronField): string | undefined {
  const found = sorted(field)
  const names = found.map((one) => months[one - 1] ?? "")
  if (found.length === 12) return ""
  if (found.length > 2 && isRow(found)) return `from ${names[0]} to ${names.at(-1)}`
  return names.length > maxNamed ? undefined : `in ${listed(names)}`
}

function sorted({ values }: CronField): number[] {
  return [...values].sort((a, b) => a - b)
}

function isRow(values: readonly number[]): boolean {
  return values.every((value, at) => at === 0 || value === (values[at - 1] ?? 0) + 1)
}

/** The distance of values that fill the whole evenly, from 0 on. */
function stepOf(values: readonly number[], whole: number): number | undefined {
  const step = whole / values.length
  return Number.isInteger(step) && values.every((value, at) => value === at * step) ? step : undefined
}

function clock(hour: number, minute: number): string {
  return `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`
}
