import { visibleJson, visibleText } from "../base/visible-text.ts"
import { showComparison } from "./compare-models.ts"
import { distinctFailures } from "./report.ts"
import { nameOf, type TestResult } from "./run-suites.ts"

/** The results of the same tests with one variant of the file; of the file itself where the name is null. */
export interface VariantColumn {
  readonly name: string | null
  readonly results: readonly TestResult[]
}

/** An expectation that a variant fails, and the file itself passes. */
export interface Worse {
  readonly variant: string
  readonly test: string
  readonly failure: string
}

/** What the variants fail of what the file itself passes. A test that the file fails before its expectations says nothing. */
export function worse([written, ...variants]: readonly VariantColumn[]): readonly Worse[] {
  const own = new Map(written?.results.map((result) => [keyOf(result), result]))
  return variants.flatMap(({ name, results }) =>
    results.flatMap((result) => {
      const before = own.get(keyOf(result))
      if (result.passed || before === undefined || before.runs.every(({ cutShort }) => cutShort)) return []
      const failed = new Set(before.passed ? [] : distinctFailures(before).map(({ failure }) => failure.at))
      return distinctFailures(result).flatMap(({ failure }) =>
        failed.has(failure.at) ? [] : [{ variant: name ?? "", test: nameOf(result), failure: failure.text }],
      )
    }),
  )
}

function keyOf({ file, line, row }: TestResult): string {
  return `${file}:${line}:${row?.position ?? ""}`
}

/** A table of the variants beside the file itself, and what they do worse. */
export function showVariants(columns: readonly VariantColumn[]): string {
  const named = columns.map(({ name, results }) => ({ name: name ?? "as written", results }))
  const found = worse(columns).map(({ variant, test, failure }) => visibleText(`${variant}: ${test}: ${failure}`))
  const [first] = found
  const list = first === undefined ? "No variant fails what the file itself passes." : found.join("\n")
  return `${showComparison(named)}\n\n${list}`
}

/** The same as one JSON document. */
export function reportVariants(columns: readonly VariantColumn[], broken: readonly object[]): string {
  const variants = columns.map(({ name, results }) => ({
    name: name ?? "",
    rows: results.map((result) => ({
      test: result.title,
      ...(result.row === null ? {} : { row: { file: result.row.file, line: result.row.line } }),
      output: result.runs[0]?.output ?? null,
      passed: result.passed,
      failed: distinctFailures(result).map(({ failure }) => failure.text),
      tokens: result.usage.input_tokens + result.usage.output_tokens,
      cost: result.usage.cost,
      ms: Math.round(result.duration_ms),
    })),
  }))
  const [written, ...others] = variants
  return visibleJson({ variants: others, as_written: written?.rows ?? [], worse: worse(columns), broken }, 2)
}
