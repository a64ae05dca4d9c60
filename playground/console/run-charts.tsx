import { useEffect } from "preact/hooks"
import { costNumber, counted, showDuration, showNumber } from "../ui/show.ts"
import type { Bar, Bars } from "./bars.ts"
import { place } from "./place.ts"
import { filterKey } from "./run-list.ts"
import { loadStats, runStats } from "./run-stats.ts"

const everyMs = 15_000
const height = 36

interface Chart {
  readonly name: string
  /** The number beside the name. */
  readonly total: (bars: readonly Bar[]) => string
  /** From the bottom up: its class and its height. */
  readonly parts: readonly (readonly [string, (bar: Bar) => number])[]
  readonly title: (bar: Bar) => string
}

const sum = (bars: readonly Bar[], of: (bar: Bar) => number): number => bars.reduce((all, bar) => all + of(bar), 0)
const most = (bars: readonly Bar[], of: (bar: Bar) => number): number => Math.max(0, ...bars.map(of))

const charts: readonly Chart[] = [
  {
    name: "Runs",
    total: (bars) => showNumber(sum(bars, ({ runs }) => runs)),
    parts: [["is-runs", ({ runs }) => runs]],
    title: ({ runs, waiting }) => `${counted(runs, "run")}${waiting === 0 ? "" : `, ${waiting} waiting`}`,
  },
  {
    name: "Failures",
    total: (bars) => showNumber(sum(bars, ({ failed }) => failed)),
    parts: [["is-failures", ({ failed }) => failed]],
    title: ({ runs, failed }) => `${failed} of ${counted(runs, "run")} failed`,
  },
  {
    name: "p50 and p95",
    total: (bars) => {
      const longest = most(bars, ({ p95 }) => p95)
      return longest === 0 ? "–" : `≤ ${showDuration(longest)}`
    },
    parts: [
      ["is-p50", ({ p50 }) => p50],
      ["is-p95", ({ p50, p95 }) => p95 - p50],
    ],
    title: ({ p50, p95 }) => `p50 ${showDuration(p50)}, p95 ${showDuration(p95)}`,
  },
  {
    name: "Cost",
    total: (bars) => costNumber(sum(bars, ({ cost }) => cost)),
    parts: [["is-cost", ({ cost }) => cost]],
    title: ({ cost }) => costNumber(cost),
  },
]

/** Runs by hour or day, as the filters want them. The row has its height before the numbers come. */
export function RunCharts() {
  const filters = filterKey.value
  useEffect(() => {
    void loadStats()
    const timer = setInterval(() => {
      if (!document.hidden) void loadStats()
    }, everyMs)
    return () => clearInterval(timer)
  }, [filters])
  const stats = runStats.value
  const { params } = place.value
  const without = [...(params.has("q") ? ["the words"] : []), ...(params.has("score") ? ["the score"] : [])]
  return (
    <section class="run-charts" aria-label="Charts">
      {charts.map((chart, index) => (
        <ChartOf
          key={chart.name}
          chart={chart}
          stats={stats}
          note={
            index > 0 || stats === null
              ? ""
              : `${counted(stats.bars.length, stats.by)}${without.length === 0 ? "" : `, without ${without.join(" and ")}`}`
          }
        />
      ))}
    </section>
  )
}

function ChartOf({
  chart,
  stats,
  note,
}: {
  readonly chart: Chart
  readonly stats: Bars | null
  readonly note: string
}) {
  const { name, total, parts, title } = chart
  const bars = stats?.bars ?? []
  const tallest = most(bars, (bar) => parts.reduce((all, [, of]) => all + of(bar), 0))
  const text = stats === null ? "…" : total(bars)
  return (
    <figure class="run-chart">
      <figcaption>
        <span>{name}</span> <strong>{text}</strong>
        <span class="note">{note}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${Math.max(1, bars.length) * 4} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name} by ${stats?.by ?? "hour"}: ${text}`}
      >
        {bars.map((bar, index) => (
          <g key={bar.at}>
            <title>{`${showBucket(bar.at, stats?.by ?? "hour")}: ${title(bar)}`}</title>
            <rect class="is-ground" x={index * 4} y={0} width={4} height={height} />
            {partsOf(bar, parts, tallest).map(({ kind, y, tall }) => (
              <rect key={kind} class={kind} x={index * 4 + 0.4} y={y} width={3.2} height={tall} />
            ))}
          </g>
        ))}
      </svg>
    </figure>
  )
}

function partsOf(
  bar: Bar,
  parts: Chart["parts"],
  tallest: number,
): { readonly kind: string; readonly y: number; readonly tall: number }[] {
  let y = height
  return parts.flatMap(([kind, of]) => {
    const value = of(bar)
    if (value <= 0 || tallest === 0) return []
    // A small value is still seen.
    const tall = Math.max(1.5, (value / tallest) * (height - 2))
    y -= tall
    return [{ kind, y, tall }]
  })
}

function showBucket(at: number, by: Bars["by"]): string {
  const date = new Date(at)
  const day = date.toLocaleDateString("en", {
    month: "short",
    day: "numeric",
    ...(by === "day" && { timeZone: "UTC" }),
  })
  return by === "day"
    ? day
    : `${day}, ${date.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false })}`
}
