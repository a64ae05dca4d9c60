/** A line of the health page. */
export interface HealthFact {
  readonly name: string
  readonly value: string
  readonly state: "good" | "wrong" | "plain"
}

/** The numbers of `GET /metrics`, by name; of several series of a name the sum. */
export function readMetrics(text: string): Map<string, number> {
  const found = new Map<string, number>()
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-z_]+)(?:\{.*\})? (\S+)$/.exec(line) ?? []
    const number = Number(value)
    if (name !== undefined && Number.isFinite(number)) found.set(name, (found.get(name) ?? 0) + number)
  }
  return found
}

const worstOffsetSeconds = 2

interface Row {
  readonly metric: string
  readonly name: string
  readonly text: (value: number) => string
  readonly isWrong?: (value: number) => boolean
}

const plainNumber = (value: number): string => new Intl.NumberFormat("en").format(value)

const rows: readonly Row[] = [
  { metric: "wire_processes", name: "Processes", text: plainNumber },
  { metric: "wire_runs_active", name: "Runs under way", text: plainNumber },
  { metric: "wire_runs_queued", name: "Runs in the queue", text: plainNumber },
  { metric: "wire_runs_waiting", name: "Runs that wait", text: plainNumber },
  { metric: "wire_questions_open", name: "Open questions", text: plainNumber },
  {
    metric: "wire_clock_offset_seconds",
    name: "Clock, against the store's",
    text: (value) => `${value >= 0 ? "+" : ""}${value.toFixed(3)} s`,
    isWrong: (value) => Math.abs(value) > worstOffsetSeconds,
  },
  { metric: "process_resident_memory_bytes", name: "Memory", text: (value) => `${(value / 1_048_576).toFixed(0)} MiB` },
]

export function healthFacts(metrics: ReadonlyMap<string, number>): HealthFact[] {
  return rows.flatMap(({ metric, name, text, isWrong }) => {
    const value = metrics.get(metric)
    if (value === undefined) return []
    return [{ name, value: text(value), state: isWrong?.(value) === true ? ("wrong" as const) : ("plain" as const) }]
  })
}
