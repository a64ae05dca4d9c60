import type { LineMap } from "../source/line-map.ts"
import type { TestPlan } from "../plan/plan-tests.ts"
import type { Usage } from "../log/events.ts"
import { addUsage, noUsage, showUsage } from "../log/usage.ts"
import type { Tested, TestEngine } from "./run-once.ts"
import type { Row, TestRun } from "./run-test.ts"
import { runTest } from "./run-test.ts"

/** A test file that can run. */
export interface Suite {
  readonly file: string
  readonly lines: LineMap
  readonly tested: Tested
  readonly tests: readonly SuiteTest[]
}

export interface SuiteTest {
  readonly plan: TestPlan
  /** Null for a test without data. */
  readonly rows: readonly Row[] | null
}

/** One test, or one row of it, with all its samples. */
export interface TestResult {
  readonly file: string
  readonly title: string
  /** Where the test begins. */
  readonly line: number
  readonly row: Row | null
  readonly passed: boolean
  readonly pass_rate: number
  readonly runs: readonly TestRun[]
  readonly usage: Usage
  /** The sum of the times of its runs. */
  readonly duration_ms: number
}

/** How many tests run side by side. */
const sideBySide = 16

interface Case {
  readonly suite: Suite
  readonly test: TestPlan
  readonly row: Row | null
}

/** A test's name as people read it: with its row. */
export function nameOf({ title, row }: Pick<TestResult, "title" | "row">): string {
  return row === null ? title : `${title} (${row.file}:${row.line})`
}

export function casesOf(suites: readonly Suite[], matches: (title: string) => boolean): Case[] {
  return suites.flatMap((suite) =>
    suite.tests.flatMap(({ plan, rows }) => {
      if (!matches(plan.title)) return []
      const each: readonly (Row | null)[] = rows ?? [null]
      return each.map((row) => ({ suite, test: plan, row }))
    }),
  )
}

/** Runs tests side by side; the results are in the order of the files. `engineOf` may differ from sample to sample. */
export async function runCases(
  cases: readonly Case[],
  engineOf: (suite: Suite, sample: number) => TestEngine,
  done: (result: TestResult) => void,
  signal: AbortSignal,
): Promise<TestResult[]> {
  const results: TestResult[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (;;) {
      const index = next++
      const one = cases[index]
      if (one === undefined || signal.aborted) return
      const result = await runCase(one, engineOf, signal)
      if (signal.aborted) return
      results[index] = result
      done(result)
    }
  }
  await Promise.all(Array.from({ length: Math.min(sideBySide, cases.length) }, work))
  return results.filter((result) => result !== undefined)
}

async function runCase(
  { suite, test, row }: Case,
  engineOf: (suite: Suite, sample: number) => TestEngine,
  signal: AbortSignal,
): Promise<TestResult> {
  const runs = await Promise.all(
    Array.from({ length: test.samples }, (_, sample) =>
      runTest(engineOf(suite, sample), suite.tested, test, row, signal),
    ),
  )
  const passed = runs.filter(({ failures }) => failures.length === 0).length
  return {
    file: suite.file,
    title: test.title,
    line: suite.lines.position(test.span.start).line,
    row,
    // A share such as 0.9 of 10 must not fail for a rounding error.
    passed: passed / runs.length >= test.pass_rate - 1e-9,
    pass_rate: passed / runs.length,
    runs,
    usage: showUsage(runs.reduce((sum, { usage }) => addUsage(sum, usage), noUsage)),
    duration_ms: runs.reduce((sum, { duration_ms }) => sum + duration_ms, 0),
  }
}
