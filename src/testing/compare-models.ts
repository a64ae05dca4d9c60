import { groupDigits } from "../base/group-digits.ts"
import { visibleText } from "../base/visible-text.ts"
import { costText, totalsOf } from "./report.ts"
import { nameOf, type TestResult } from "./run-suites.ts"

/** The results of the same tests with one model. */
export interface ModelColumn {
  readonly name: string
  readonly results: readonly TestResult[]
}

/** Models against tests: pass rates, and at the foot tokens, cost and the median time. */
export function showComparison(columns: readonly ModelColumn[]): string {
  const names = [...new Set(columns.flatMap(({ results }) => results.map(nameOf)))]
  const rows: string[][] = [["", ...columns.map(({ name }) => visibleText(name))]]
  for (const name of names) {
    rows.push([
      visibleText(name),
      ...columns.map(({ results }) => rateText(results.filter((result) => nameOf(result) === name))),
    ])
  }
  rows.push([])
  rows.push(["pass rate", ...columns.map(({ results }) => rateText(results))])
  rows.push(["tokens", ...columns.map(({ results }) => groupDigits(tokensOf(results)))])
  rows.push(["cost", ...columns.map(({ results }) => costCell(results))])
  rows.push(["median time", ...columns.map(({ results }) => `${Math.round(medianTime(results))} ms`)])
  return layOut(rows)
}

/** The same for machines. */
export function comparisonOf({ name, results }: ModelColumn): object {
  const { usage } = totalsOf(results)
  return {
    model: name,
    pass_rate: rateOf(results),
    usage,
    cost: usage.cost,
    median_ms: medianTime(results),
    tests: results.map((result) => ({ file: result.file, name: nameOf(result), pass_rate: result.pass_rate })),
  }
}

function rateOf(results: readonly TestResult[]): number {
  const runs = results.flatMap((result) => result.runs)
  return runs.length === 0 ? 0 : runs.filter(({ failures }) => failures.length === 0).length / runs.length
}

function rateText(results: readonly TestResult[]): string {
  return results.length === 0 ? "-" : `${Math.round(rateOf(results) * 100)} %`
}

function tokensOf(results: readonly TestResult[]): number {
  const { usage } = totalsOf(results)
  return usage.input_tokens + usage.output_tokens
}

function costCell(results: readonly TestResult[]): string {
  const { cost } = totalsOf(results).usage
  return cost === null ? "unknown" : costText(cost)
}

function medianTime(results: readonly TestResult[]): number {
  const times = results.flatMap(({ runs }) => runs.map(({ duration_ms }) => duration_ms)).sort((a, b) => a - b)
  const middle = times.length >> 1
  const high = times[middle] ?? 0
  return times.length % 2 === 1 ? high : ((times[middle - 1] ?? 0) + high) / 2
}

function layOut(rows: readonly (readonly string[])[]): string {
  const count = Math.max(...rows.map((row) => row.length))
  const widths = Array.from({ length: count }, (_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  return rows
    .map((row) =>
      row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
    )
    .join("\n")
}
