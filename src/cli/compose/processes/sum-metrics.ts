// Prometheus texts of several processes as one.

interface Family {
  /** The lines that begin with `#`. */
  readonly about: readonly string[]
  readonly type: string
  readonly samples: Map<string, number>
}

type Families = Map<string, Family>

/** Figures that are not sums: those of the whole store, which each process reads there, and those that say how bad it is. */
const rules: Readonly<Record<string, (a: number, b: number) => number>> = {
  wire_runs_waiting: Math.max,
  wire_questions_open: Math.max,
  wire_question_oldest_age_seconds: Math.max,
  wire_budget_used_ratio: Math.max,
  wire_clock_offset_seconds: (a, b) => (Math.abs(a) > Math.abs(b) ? a : b),
  process_start_time_seconds: Math.min,
  nodejs_version_info: Math.max,
  nodejs_eventloop_lag_min_seconds: Math.min,
}

const add = (a: number, b: number): number => a + b

function ruleOf(name: string): (a: number, b: number) => number {
  return rules[name] ?? (name.startsWith("nodejs_eventloop_lag_") ? Math.max : add)
}

/** The sum of the metrics of processes. All are written by the same program: their labels have one order. */
export function sumMetrics(texts: readonly string[]): string {
  const sum: Families = new Map()
  for (const text of texts) {
    for (const [name, { about, type, samples }] of parse(text)) {
      const known = sum.get(name)
      if (known === undefined) {
        sum.set(name, { about, type, samples: new Map(samples) })
        continue
      }
      const rule = ruleOf(name)
      for (const [series, value] of samples) {
        const before = known.samples.get(series)
        known.samples.set(series, before === undefined || Number.isNaN(before) ? value : rule(before, value))
      }
    }
  }
  return print(sum)
}

/** What counts on when the process that counted it is gone: counters and histograms. */
export function countersOf(text: string): string {
  return print(new Map([...parse(text)].filter(([, { type }]) => type === "counter" || type === "histogram")))
}

function parse(text: string): Families {
  const families: Families = new Map()
  let about: string[] = []
  let current: Family | null = null
  for (const line of text.split("\n")) {
    if (line === "") continue
    if (line.startsWith("#")) {
      about.push(line)
      const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
      if (name === undefined || type === undefined) continue
      current = { about, type, samples: new Map() }
      about = []
      families.set(name, current)
      continue
    }
    const end = line.lastIndexOf(" ")
    current?.samples.set(line.slice(0, end), numberOf(line.slice(end + 1)))
  }
  return families
}

function numberOf(written: string): number {
  return written === "+Inf" ? Infinity : written === "-Inf" ? -Infinity : Number(written)
}

function print(families: Families): string {
  const lines: string[] = []
  for (const { about, samples } of families.values()) {
    lines.push(...about)
    for (const [series, value] of samples) lines.push(`${series} ${printed(value)}`)
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`
}

function printed(value: number): string {
  if (value === Infinity) return "+Inf"
  return value === -Infinity ? "-Inf" : String(value)
}
