import { visibleJson } from "../base/visible-text.ts"
import { comparisonOf, type ModelColumn } from "./compare-models.ts"
import { distinctFailures, totalsOf, type Report } from "./report.ts"

/** One JSON document. */
export function reportJson({ results, broken, lineOf }: Report, models: readonly ModelColumn[]): string {
  const totals = totalsOf(results)
  return visibleJson(
    {
      passed: totals.passed,
      failed: totals.failed,
      usage: totals.usage,
      duration_ms: totals.duration_ms,
      tests: results.map((result) => ({
        file: result.file,
        line: result.line,
        name: result.title,
        ...(result.row === null ? {} : { row: { file: result.row.file, line: result.row.line } }),
        passed: result.passed,
        samples: result.runs.length,
        pass_rate: result.pass_rate,
        usage: result.usage,
        duration_ms: result.duration_ms,
        failures: distinctFailures(result).map(({ failure, times }) => ({
          message: failure.text,
          line: lineOf(result.file, failure.at),
          details: failure.details,
          ...(result.runs.length === 1 ? {} : { times }),
        })),
      })),
      broken: broken.map(({ file, problem }) => ({ file, problem })),
      ...(models.length === 0 ? {} : { models: models.map(comparisonOf) }),
    },
    2,
  )
}
