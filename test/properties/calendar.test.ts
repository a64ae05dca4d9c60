import assert from "node:assert/strict"
import { test } from "node:test"
import { Cron as Croner } from "croner"
import type { Cron } from "../../src/check/cron.ts"
import { isCron, readCron } from "../../src/check/cron.ts"
import { calendarOf } from "../../src/plan/schedule-times.ts"
import { fc } from "../support/fast-check.ts"
import { atStrength, cases, isSoak } from "../support/strength.ts"

// When schedules are due, against two others: croner's own next times where no clock changes, and a walk from minute to minute.

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const zones = [...Intl.supportedValuesOf("timeZone"), "UTC"]

/** The clock on the wall, by the machine's own data. */
class Wall {
  readonly #format: Intl.DateTimeFormat

  constructor(timeZone: string) {
    const numeric = "numeric" as const
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    })
  }

  /** As if it were UTC. */
  at(instant: number): number {
    const of = Object.fromEntries(this.#format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]))
    return Date.UTC(of["year"] ?? 0, (of["month"] ?? 1) - 1, of["day"], of["hour"], of["minute"], of["second"])
  }
}

function fits({ minute, hour, day, month, weekday }: Cron, wall: number): boolean {
  const date = new Date(wall)
  const ofDay = day.values.has(date.getUTCDate())
  const ofWeek = weekday.values.has(date.getUTCDay())
  const isDay = day.isAny || weekday.isAny ? ofDay && ofWeek : ofDay || ofWeek
  return (
    isDay &&
    minute.values.has(date.getUTCMinutes()) &&
    hour.values.has(date.getUTCHours()) &&
    month.values.has(date.getUTCMonth() + 1)
  )
}

/** All due times in a stretch of time, minute by minute. */
function walk(cron: Cron, wall: Wall, after: number, until: number): number[] {
  const isFixed = cron.minute.values.size === 1 && cron.hour.values.size === 1
  const found: number[] = []
  const start = Math.floor(after / minuteMs) * minuteMs - 3 * hourMs
  let latest = -Infinity
  let before = wall.at(start - minuteMs)
  for (let at = start; at <= until; at += minuteMs) {
    const now = wall.at(at)
    let isDue = fits(cron, now)
    if (isFixed) {
      // In the repeated hour the first time; in the gap right after it.
      if (now <= latest) isDue = false
      for (let skipped = before + minuteMs; skipped < now; skipped += minuteMs) if (fits(cron, skipped)) isDue = true
    }
    latest = Math.max(latest, now)
    before = now
    if (isDue && at > after) found.push(at)
  }
  return found
}

function read(text: string): Cron {
  const cron = readCron(text)
  assert.ok(isCron(cron), `${text}: ${"problem" in cron ? cron.problem : ""}`)
  return cron
}

function times(text: string, zone: string, after: number, until: number): number[] {
  const calendar = calendarOf(text, zone)
  assert.ok(calendar !== undefined)
  const found: number[] = []
  for (let at = calendar.next(after); at <= until; at = calendar.next(at)) found.push(at)
  return found
}

const show = (all: readonly number[]): string[] => all.map((at) => new Date(at).toISOString())

const number = (least: number, most: number): fc.Arbitrary<string> => fc.integer({ min: least, max: most }).map(String)

function field(least: number, most: number, names: readonly string[] = []): fc.Arbitrary<string> {
  const value = names.length === 0 ? number(least, most) : fc.oneof(number(least, most), fc.constantFrom(...names))
  const range = fc
    .tuple(fc.integer({ min: least, max: most }), fc.integer({ min: least, max: most }))
    .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  const step = fc
    .tuple(fc.oneof(fc.constant("*"), range), fc.integer({ min: 1, max: most }))
    .map(([a, n]) => `${a}/${n}`)
  const item = fc.oneof(value, range, step)
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant("*") },
    { weight: 3, arbitrary: item },
    { weight: 1, arbitrary: fc.array(item, { minLength: 2, maxLength: 4 }).map((items) => items.join(",")) },
  )
}

const crons = fc
  .tuple(
    field(0, 59),
    field(0, 23),
    field(1, 28),
    field(1, 12, ["Jan", "FEB", "dec"]),
    field(0, 7, ["sun", "Mon", "SAT"]),
  )
  .map((fields) => fields.join(" "))

const year = Date.UTC(2026, 0, 1)
const instants = fc.integer({ min: 0, max: 10 * 365 * 24 * 60 }).map((minutes) => year + minutes * minuteMs)

test("random schedules in random zones are due when a walk from minute to minute says so", () => {
  fc.assert(
    fc.property(crons, fc.constantFrom(...zones), instants, (text, zone, after) => {
      const until = after + dayMs
      const expected = walk(read(text), new Wall(zone), after, until)
      assert.deepEqual(show(times(text, zone, after, until)), show(expected), `${text} in ${zone}`)
    }),
    { numRuns: cases(240) },
  )
})

test("croner's own next times are the same in every zone, as long as its clocks do not change", () => {
  // Each zone has its turn; UTC as often as all others.
  const turns = fc.oneof(fc.constant("UTC"), fc.constantFrom(...zones))
  fc.assert(
    fc.property(crons, instants, turns, (text, after, timezone) => {
      const theirs = new Croner(text, { timezone, mode: "5-part" })
      const calendar = calendarOf(text, timezone)
      const wall = new Wall(timezone)
      let at = after
      for (let count = 0; count < 5; count++) {
        const next = theirs.nextRun(new Date(at))
        if (next !== null && isChanged(wall, at, next.getTime())) return
        assert.equal(calendar?.next(at), next?.getTime(), `${text} after ${new Date(at).toISOString()}`)
        at = next?.getTime() ?? at
      }
    }),
    { numRuns: cases(1_200) },
  )
})

/** Whether the clocks differ at one of the days from one instant to the other, or a day around them. */
function isChanged(wall: Wall, from: number, until: number): boolean {
  const offset = (at: number): number => wall.at(at) - at
  for (let at = from - dayMs; at < until + 2 * dayMs; at += dayMs) {
    if (offset(at) !== offset(from)) return true
    // Rare times are far away; one change in between is enough to know.
    if (at - from > 400 * dayMs) return offset(until) !== offset(from)
  }
  return false
}

/** The instants of ten years at which the clocks of a zone change. */
function changesOf(wall: Wall): number[] {
  const found: number[] = []
  const offset = (at: number): number => wall.at(at) - at
  const weekMs = 7 * dayMs
  for (let at = year; at < year + 10 * 365 * dayMs; at += weekMs) {
    if (offset(at) === offset(at + weekMs)) continue
    let [low, high] = [at, at + weekMs]
    while (high - low > minuteMs) {
      const middle = Math.floor((low + high) / 2 / minuteMs) * minuteMs
      if (offset(middle) === offset(low)) low = middle
      else high = middle
    }
    found.push(high)
  }
  return found
}

test("around changes of the clocks, in every zone that has them", () => {
  const samples = ["30 2 * * *", "0 0 * * *", "30 1 * * *", "*/20 * * * *", "15 1-3 * * *", "0 3 * * 0", "@hourly"]
  let at = 0
  let changes = 0
  const changing: string[] = []
  // All zones, all changes of ten years and two samples for each in the soak; some of each else.
  const some = zones.filter((_, index) => index % atStrength(12, 1) === 0)
  for (const zone of some) {
    const wall = new Wall(zone)
    const found = changesOf(wall).slice(0, atStrength(3, Infinity))
    if (found.length > 0) changing.push(zone)
    for (const change of found) {
      const [after, until] = [change - 3 * hourMs, change + 5 * hourMs]
      changes++
      for (let sample = 0; sample < atStrength(1, 2); sample++) {
        const text = samples[at++ % samples.length] ?? "@daily"
        assert.deepEqual(
          show(times(text, zone, after, until)),
          show(walk(read(text), wall, after, until)),
          `${text} in ${zone} around ${new Date(change).toISOString()}`,
        )
      }
    }
  }
  assert.ok(changes > atStrength(20, 1_000), `${changes} changes`)
  if (!isSoak) return
  // Both changes of ten years: the zones that people schedule in most, and one whose clocks change by half an hour.
  for (const zone of ["Europe/Berlin", "America/New_York", "Australia/Sydney", "Australia/Lord_Howe"]) {
    assert.ok(changing.includes(zone))
    assert.equal(changesOf(new Wall(zone)).length, 20, zone)
  }
})

test("Berlin: a fixed time in the gap, a fixed time in the repeated hour, and every half hour", () => {
  const around = (text: string, day: number, month: number): string[] => {
    const calendar = calendarOf(text, "Europe/Berlin")
    const start = Date.UTC(2026, month, day, 0, 10)
    return times(text, "Europe/Berlin", start, start + 2.5 * hourMs).map((at) => calendar?.show(at) ?? "")
  }
  assert.deepEqual(around("30 2 * * *", 29, 2), ["2026-03-29T03:00:00+02:00"])
  assert.deepEqual(around("30 2 * * *", 25, 9), ["2026-10-25T02:30:00+02:00"])
  assert.deepEqual(around("*/30 * * * *", 29, 2), [
    "2026-03-29T01:30:00+01:00",
    "2026-03-29T03:00:00+02:00",
    "2026-03-29T03:30:00+02:00",
    "2026-03-29T04:00:00+02:00",
    "2026-03-29T04:30:00+02:00",
  ])
  assert.deepEqual(around("*/30 * * * *", 25, 9), [
    "2026-10-25T02:30:00+02:00",
    "2026-10-25T02:00:00+01:00",
    "2026-10-25T02:30:00+01:00",
    "2026-10-25T03:00:00+01:00",
    "2026-10-25T03:30:00+01:00",
  ])
})

test("rare times are found: 29 February, and the last one that was missed", () => {
  const leap = calendarOf("0 0 29 2 *", "America/New_York")
  assert.equal(leap?.show(leap.next(Date.UTC(2026, 0, 1))), "2028-02-29T00:00:00-05:00")
  const yearly = calendarOf("@yearly", "Asia/Kathmandu")
  assert.equal(yearly?.last(Date.UTC(2020, 5, 1), Date.UTC(2026, 5, 1)), Date.UTC(2025, 11, 31, 18, 15))
  const minutely = calendarOf("* * * * *", "UTC")
  assert.equal(minutely?.last(Date.UTC(2020, 5, 1), Date.UTC(2026, 5, 1) + 5), Date.UTC(2026, 5, 1))
  assert.equal(minutely?.last(Date.UTC(2026, 5, 1), Date.UTC(2026, 5, 1) + 5), null)
})
