import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Entry } from "../plan/expression.ts"
import { fixtureVariable } from "../plan/lower.ts"
import { FileRefusal } from "../run/files/files.ts"
import { readingTexts, type Fixture } from "./fixtures.ts"
import type { GivenPlan, TestPlan } from "../plan/plan-tests.ts"
import { parseTime } from "../base/parse-time.ts"
import { timeForm } from "../check/run-values.ts"
import { RunFailure, failure, wireError } from "../ports/run-failure.ts"
import type { Scope } from "../run/values/scope.ts"
import { evaluate } from "../run/values/evaluate.ts"
import type { ErrorIssue, Usage } from "../log/events.ts"
import { validateRequest } from "../run/validate-request.ts"
import { addUsage, noUsage, showUsage } from "../log/usage.ts"
import { runValues, type RunValues } from "../run/context/run-values.ts"
import type { Failure } from "./check-expectation.ts"
import { checkExpectation, showValue, testScope } from "./check-expectation.ts"
import type { GivenOne, GivenValue } from "./given-results.ts"
import { judge } from "./judge.ts"
import { showMiss } from "./show-miss.ts"
import type { Given, Miss, ObservedTest, Tested, TestEngine } from "./run-once.ts"
import { runOnce, defaultRun } from "./run-once.ts"

/** One run of a test. */
export interface TestRun {
  readonly failures: readonly Failure[]
  readonly usage: Usage
  readonly duration_ms: number
  /** What judges said of what passed. */
  readonly remarks: readonly string[]
  /** The run failed, against what the test expects: it may not have come to everything that it asks. */
  readonly cutShort: boolean
  readonly output: JsonValue
}

/** A row of a test's data. */
export interface Row {
  readonly file: string
  readonly line: number
  /** Among the rows, from 0. */
  readonly position: number
  readonly value: JsonValue
}

/** Runs a test once, with a fresh store, and holds its expectations against what came of it. */
export async function runTest(
  engine: TestEngine,
  tested: Tested,
  test: TestPlan,
  row: Row | null,
  signal: AbortSignal,
): Promise<TestRun> {
  const fixtures: Fixture[] = []
  const rows: Map<string, JsonValue> =
    test.rows === null || row === null
      ? new Map()
      : new Map<string, JsonValue>([
          ...(test.rows.index === null ? [] : [[test.rows.index, row.position] as const]),
          [test.rows.variable, row.value],
        ])
  const failed = (text: string, details: readonly string[] = []): TestRun => ({
    failures: [{ text, at: test.span.start, details }],
    usage: noUsage,
    duration_ms: 0,
    remarks: [],
    cutShort: true,
    output: null,
  })
  const where = row === null ? "" : ` (${row.file}:${row.line})`
  let input: JsonObject
  let given: Given
  try {
    for (const { path } of test.fixtures) {
      const fixture = tested.fixtures.get(path)
      if (fixture === undefined) throw new Error(`${path} was not read`)
      fixtures.push(fixture)
      rows.set(fixtureVariable(path), fixture.value)
    }
    const before = testScope(tested.plan, {}, rows, null)
    input = valuesOf(test.input, before)
    given = { ...readGiven(test, { ...before, input }), fixtures }
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    return failed(`The test's values could not be computed${where}`, [error.error.message])
  }
  const misfit = validateRequest(tested.plan, input, tested.secrets)
  if (misfit !== null) {
    const details = misfit.issues.map(issueText)
    return failed(`The input does not fit the workflow${where}`, details)
  }
  let observed: ObservedTest
  try {
    observed = await runOnce(engine, tested, tested.plan, input, tested.secrets, given, signal)
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return failed("A file of the test cannot be stored", [error.message])
  }
  return holdAgainst(engine, tested, test, input, rows, given, observed, signal)
}

async function holdAgainst(
  engine: TestEngine,
  tested: Tested,
  test: TestPlan,
  input: JsonObject,
  rows: ReadonlyMap<string, JsonValue>,
  given: Given,
  observed: ObservedTest,
  signal: AbortSignal,
): Promise<TestRun> {
  const { error, duration_ms } = observed
  const failures: Failure[] = []
  const remarks: string[] = []
  let { usage } = observed
  if (observed.misses.length > 0) {
    failures.push(...observed.misses.map((miss) => notRecorded(miss, test.span.start)))
  } else if (observed.shortages.length > 0) {
    failures.push(
      ...observed.shortages.map(({ step, given: count, calls }) => ({
        text: `${step} is given ${count === 1 ? "1 result" : `${count} results`}, and is called at least ${calls} times`,
        at: test.span.start,
        details: [`Give it one for each call: given ${step}: [ …, … ]`],
      })),
    )
  } else if (observed.waiting.length > 0) {
    for (const step of observed.waiting) {
      const details = [
        step.startsWith("ask.") ? `Give it an answer: given ${step}: …` : `Give it a result: given ${step}: …`,
      ]
      failures.push({ text: `${step} waits for a person`, at: test.span.start, details })
    }
  } else if (error !== null && !test.fails) {
    const details = error.issues.flatMap(({ path, message, hint }) => [
      ...issueText({ path, message }).split("\n"),
      ...(hint === undefined ? [] : hint.split("\n").map((line) => `= ${line}`)),
    ])
    failures.push({ text: `The run failed: ${error.kind}`, at: test.span.start, details })
  } else if (error === null && test.fails) {
    failures.push({ text: "The run was expected to fail, and it completed", at: test.span.start, details: [] })
  } else {
    const texts = readingTexts(observed.texts)
    const scope = { ...testScope(tested.plan, input, rows, observed, runValues(given.run)), texts }
    for (const expect of test.expects) {
      if (expect.judge === null) {
        const failure = checkExpectation(expect, scope)
        if (failure !== null) failures.push(failure)
      } else {
        const verdict = await judge(engine, tested, expect, scope, signal)
        usage = showUsage(addUsage(usage, verdict.usage))
        if (verdict.failure === null) remarks.push(verdict.reason)
        else failures.push(verdict.failure)
      }
    }
  }
  const cutShort = observed.misses.length > 0 || (error !== null && !test.fails)
  return { failures, usage, duration_ms, remarks, cutShort, output: observed.output }
}

/** Reported even when the workflow handled it: a test that continues without a recorded answer tests something else. */
function notRecorded(miss: Miss, at: number): Failure {
  return { text: `${miss.path} asks what is not recorded`, at, details: showMiss(miss) }
}

function valuesOf(entries: readonly Entry[], scope: Scope): JsonObject {
  return Object.fromEntries(entries.map(({ key, value }) => [key, evaluate(value, scope)]))
}

function startedAt(value: JsonValue): RunValues {
  const started_at = typeof value === "string" ? parseTime(value) : undefined
  if (started_at !== undefined) return { ...defaultRun, started_at }
  throw failure("evaluation_error", "run.started_at", `run.started_at is not ${timeForm}: ${showValue(value)}`)
}

function readGiven({ given, started_at }: TestPlan, scope: Scope): Omit<Given, "fixtures"> {
  const steps = new Map<string, GivenValue>()
  const others = new Map<string, GivenValue>()
  for (const one of given) {
    const path = `${one.path}${one.kind}.${one.name}`
    const value = readResult(one, path, scope)
    if (one.kind === "agent" || one.kind === "ask" || one.kind === "workflow") steps.set(path, value)
    else others.set(path, value)
  }
  return { steps, others, run: started_at === null ? defaultRun : startedAt(evaluate(started_at, scope)) }
}

function readResult(given: GivenPlan, path: string, scope: Scope): GivenValue {
  const { result } = given
  if (result.kind === "fails") return { error: wireError(result.error, [{ path, message: result.message }]) }
  if (result.kind === "each") {
    return {
      each: result.items.map(({ value, fails }): GivenOne => {
        const made = evaluate(value, scope)
        return fails ? { fails: typeof made === "string" ? made : JSON.stringify(made) } : { value: made }
      }),
    }
  }
  const value = evaluate(result.value, scope)
  if (!Array.isArray(value) || given.kind === "resource" || given.kind === "prompt") return { value }
  return { each: value.map((one) => ({ value: one })) }
}

/** The place once: many messages begin with it. */
function issueText({ path, message }: ErrorIssue): string {
  return path === "" || message.startsWith(`${path}: `) ? message : `${path}: ${message}`
}
