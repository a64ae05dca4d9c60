// Cron expressions of five fields, read strictly: what one means must not depend on who reads it.

/** The values that a field names, and whether it is `*`. */
export interface CronField {
  readonly values: ReadonlySet<number>
  readonly isAny: boolean
}

export interface Cron {
  readonly minute: CronField
  readonly hour: CronField
  readonly day: CronField
  readonly month: CronField
  readonly weekday: CronField
  /** The five fields, for one that was written as `@daily`, too. */
  readonly fields: string
}

/** The problem with an expression, and how to write it instead. */
export interface CronMistake {
  readonly problem: string
  readonly hint: string
}

const nicknames: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
}

interface FieldRule {
  readonly name: "minute" | "hour" | "day" | "month" | "weekday"
  /** In words. */
  readonly what: string
  readonly least: number
  readonly most: number
  readonly names: readonly string[]
}

const months = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ")
const weekdays = "sun mon tue wed thu fri sat".split(" ")

const rules: readonly FieldRule[] = [
  { name: "minute", what: "minute", least: 0, most: 59, names: [] },
  { name: "hour", what: "hour", least: 0, most: 23, names: [] },
  { name: "day", what: "day of the month", least: 1, most: 31, names: [] },
  { name: "month", what: "month", least: 1, most: 12, names: ["", ...months] },
  { name: "weekday", what: "weekday", least: 0, most: 7, names: weekdays },
]

const example = 'Write five fields, such as `"0 9 * * 1-5"`: minute, hour, day of the month, month, weekday.'

export function isCron(read: Cron | CronMistake): read is Cron {
  return "fields" in read
}

export function readCron(text: string): Cron | CronMistake {
  const written = text.trim()
  if (written.startsWith("@")) {
    const fields = Object.hasOwn(nicknames, written) ? nicknames[written] : undefined
    if (fields === undefined) {
      return { problem: `Unknown schedule: ${written}`, hint: `Known are ${Object.keys(nicknames).join(", ")}.` }
    }
    return readCron(fields)
  }
  const parts = written.split(/\s+/)
  if (parts.length !== rules.length || written === "") {
    const count = written === "" ? 0 : parts.length
    const seconds = count === 6 ? " There are no seconds." : ""
    return {
      problem: `A cron expression has five fields, found ${count}`,
      hint: `${example}${seconds}`,
    }
  }
  const found: Partial<Record<FieldRule["name"], CronField>> = {}
  for (const [index, rule] of rules.entries()) {
    const field = readField(parts[index] ?? "", rule)
    if ("problem" in field) return field
    found[rule.name] = field
  }
  const { minute, hour, day, month, weekday } = found
  if (!minute || !hour || !day || !month || !weekday) return { problem: "A field is missing", hint: example }
  const cron: Cron = { minute, hour, day, month, weekday, fields: parts.join(" ") }
  if (isNeverDue(cron)) {
    return { problem: "It is never due: none of these months has such a day", hint: "Write a day that exists." }
  }
  return cron
}

function readField(text: string, rule: FieldRule): CronField | CronMistake {
  const values = new Set<number>()
  for (const item of text.split(",")) {
    const mistake = readItem(item, text, rule, values)
    if (mistake !== null) return mistake
  }
  // Sunday has two numbers.
  if (rule.name === "weekday" && values.delete(7)) values.add(0)
  return { values, isAny: text === "*" }
}

/** `*`, `5`, `1-5`, `*` or a range with a step. Adds its values. */
function readItem(item: string, field: string, rule: FieldRule, values: Set<number>): CronMistake | null {
  const { what, least, most } = rule
  const wrong = (problem: string, hint: string): CronMistake => ({
    problem: `${problem} in the ${what} \`${field}\``,
    hint,
  })
  const range = `The ${what} is a number from ${least} to ${most}${rule.names.length > 0 ? ", or a name" : ""}.`
  const [, from = "", to, step] = /^(\*|[A-Za-z]+|\d+)(?:-([A-Za-z]+|\d+))?(?:\/(\d+))?$/.exec(item) ?? []
  if (from === "") {
    if (/[LW#?]/i.test(item) && !/^[A-Za-z]{3}/.test(item)) {
      return wrong(
        `\`${item}\` is not known`,
        "Write numbers, lists, ranges and steps: there is no `L`, `W`, `#` or `?`.",
      )
    }
    return wrong(item === "" ? "A value is missing" : `\`${item}\` cannot be read`, range)
  }
  if (from === "*" && to !== undefined) return wrong(`\`${item}\` cannot be read`, range)
  const first = from === "*" ? least : valueOf(from, rule)
  const last = from === "*" ? most : to === undefined ? first : valueOf(to, rule)
  for (const [written, value] of [[from, first] as const, [to ?? from, last] as const]) {
    if (value === undefined || value < least || value > most) {
      const place = written === field ? "" : ` (in \`${field}\`)`
      return { problem: `There is no ${what} \`${written}\`${place}`, hint: range }
    }
  }
  if (first === undefined || last === undefined) return wrong(`\`${item}\` cannot be read`, range)
  if (last < first) {
    const sunday = rule.name === "weekday" && last === 0 ? ` Sunday is 7 at the end of a range: \`${first}-7\`.` : ""
    return wrong(`The range \`${item}\` ends before it begins`, `Write two ranges, with a comma between them.${sunday}`)
  }
  if (step !== undefined && (Number(step) < 1 || Number(step) > most)) {
    return wrong(
      `The step \`/${step}\` is not from 1 to ${most}`,
      `Write a ${Number(step) < 1 ? "larger" : "smaller"} step.`,
    )
  }
  if (step !== undefined && from !== "*" && to === undefined) {
    return wrong(`\`${item}\` has a step and no range`, `Write \`${from}-${most}/${step}\`.`)
  }
  for (let value = first; value <= last; value += Number(step ?? 1)) values.add(value)
  return null
}

function valueOf(text: string, { names }: FieldRule): number | undefined {
  if (/^\d+$/.test(text)) return text.length > 4 ? undefined : Number(text)
  const at = names.indexOf(text.toLowerCase())
  return at < 0 || text === "" ? undefined : at
}

const longest = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Where days of the month and weekdays are both named, either fits. */
function isNeverDue({ day, month, weekday }: Cron): boolean {
  if (!weekday.isAny) return false
  const first = Math.min(...day.values)
  return ![...month.values].some((one) => first <= (longest[one] ?? 0))
}

/** Whether it is due once a day at most, at one minute of one hour: then a change of clocks neither skips nor repeats it. */
export function isFixedTime({ minute, hour }: Cron): boolean {
  return minute.values.size === 1 && hour.values.size === 1
}

/** Whether the runtime knows a timezone of this name. Offsets such as `+01:00` are none. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false
  try {
    new Intl.DateTimeFormat("en", { timeZone: name })
    return true
  } catch {
    return false
  }
}
