import { standardOutput } from "../terminal/screen.ts"
import { addTestAdd } from "./test-add.ts"
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import type { Command } from "commander"
import type { JsonObject } from "../../base/json-value.ts"
import { rootOf } from "../../compiler/folder-texts.ts"
import { isTestFile } from "../../compile-tests.ts"
import { reportVariants, showVariants, worse, type VariantColumn } from "../../testing/compare-variants.ts"
import { showComparison } from "../../testing/compare-models.ts"
import type { BrokenFile, Report } from "../../testing/report.ts"
import { reportJson } from "../../testing/report-json.ts"
import { reportJunit } from "../../testing/report-junit.ts"
import type { TestResult } from "../../testing/run-suites.ts"
import { casesOf, runCases } from "../../testing/run-suites.ts"
import { complain, reportBug } from "../terminal/complain.ts"
import type { RecordedTestEngines, Recording, RecordingMode } from "../compose/compose-runs.ts"
import { changeOf } from "./change-of-files.ts"
import { findSources, type FoundSource } from "./find-sources.ts"
import type { LoadedTests } from "./load-tests.ts"
import { CannotTest, loadTests } from "./load-tests.ts"
import { readRecordingFile, recordingPath, writeExchanges, WrongRecording } from "./recording-file.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { parseObject, readText } from "./given-values.ts"
import { SecretValues } from "./test-secrets.ts"
import { readVariants, type SourceVariant } from "./test-variants.ts"
import { played, sourceVariants, variantsOf, type ModelChoice, type Variant } from "./variant-suites.ts"
import { readSettings } from "../compose/settings.ts"
import { stopSignal } from "../terminal/stop-signal.ts"
import { paletteFor, plain } from "../terminal/terminal.ts"
import { reportPretty, TestProgress } from "../terminal/test-output.ts"
import { visibleText } from "../../base/visible-text.ts"

interface TestFlags {
  readonly title?: string
  readonly watch?: true
  readonly record?: true
  readonly live?: true
  readonly reporter?: string
  readonly secret?: readonly string[]
  readonly secretsFile?: string
  readonly model?: readonly string[]
  readonly variants?: string
  readonly json?: true
}

const several = (value: string, before: readonly string[] = []): string[] => [...before, value]

export function testCommand(test: Command): void {
  test
    .description(
      "Runs the tests in *.test.wire files, side by side, each with a store of its own. A step with a `given` gets that result,\n" +
        "the demo model is asked, and everything else is played from the recording beside the test file.",
    )
    .argument("[path...]", "test files, folders (every .test.wire file under them) or quoted patterns")
    .option("-t, --title <text>", "only tests whose title contains the text")
    .option("--watch", "run again whenever a file changes")
    .option("--record", "make the calls that are not recorded, and drop recorded ones that no test used")
    .option("--live", "make every call, whatever is recorded")
    .option("--reporter <name>", "pretty, json or junit", "pretty")
    .option("--secret <name=env:VARIABLE>", "one secret from a variable, or name=file:PATH; may be repeated", several)
    .option("--secrets-file <file>", "secrets as a JSON file")
    .option("--model <name=id>", "run with another model id; several are compared in a table", several)
    .option(
      "--variants <file>",
      "run the tests with each of these variants of an agent, and compare; only its model is called",
    )
    .option("--json", "the same as --reporter json")
    .addHelpText(
      "after",
      `
Examples:
  wire test
  wire test triage.test.wire -t outage
  wire test --record --secret api_key=env:OPENAI_API_KEY
  wire test --live --model fast=gpt-5-mini --model fast=gpt-5-nano
  wire test triage.test.wire --variants variants.json
  wire test --reporter junit > results.xml
  wire test add 4f2a… triage.wire

variants.json: [{ "name": "short", "agent": "reply", "instruction": "Answer {{ input.mail }} in one sentence." }]; also "system", "model",
"inference" and a whole "source", beside or instead of "instruction".

Exit code: 0 when all tests pass, 1 when one fails, or a variant fails an expectation that the file itself passes, 2 when something could not run: a broken file, a missing data file, -t that
matches nothing, a secret without a value. Playing needs no secrets and opens no connection.`,
    )
    .action(async (paths: string[], flags: TestFlags) => {
      const asked = readFlags(paths, flags)
      const { code } = await (flags.watch === true ? testAgainAndAgain(asked) : testOnce(asked))
      process.exitCode = code
    })
  addTestAdd(test)
}

const reporters = ["pretty", "json", "junit"] as const

interface Asked {
  readonly paths: readonly string[]
  readonly title: string | null
  readonly mode: RecordingMode
  readonly reporter: (typeof reporters)[number]
  readonly secrets: readonly string[]
  readonly secretsFile: JsonObject
  readonly models: readonly ModelChoice[]
  /** Null where there are none. */
  readonly variants: readonly SourceVariant[] | null
}

function readFlags(paths: readonly string[], flags: TestFlags): Asked {
  const { record, live, title = null, secret = [], model = [] } = flags
  const reporter = flags.json === true ? "json" : reporters.find((each) => each === flags.reporter)
  if (reporter === undefined)
    throw new WrongValue(`--reporter is "${flags.reporter}": it must be pretty, json or junit.`)
  if (record === true && live === true) throw new WrongValue("Give --record or --live, not both.")
  const mode = record === true ? "record" : live === true ? "live" : "play"
  if (model.length > 0 && mode === "play")
    throw new WrongValue("--model needs --record or --live: nothing is recorded of it.")
  const variants = flags.variants === undefined ? null : readVariants(readText(flags.variants), flags.variants)
  if (variants !== null && (mode !== "play" || model.length > 0 || reporter === "junit"))
    throw new WrongValue("--variants takes neither --record, --live, --model nor --reporter junit.")
  const models = model.map((assignment) => {
    const [, name, id] = /^([A-Za-z_]\w*)=(.+)$/s.exec(assignment) ?? []
    if (name === undefined || id === undefined) throw new WrongValue(`--model ${assignment}: write it as name=id.`)
    return { name, id }
  })
  const secretsFile = flags.secretsFile === undefined ? {} : parseObject(readText(flags.secretsFile), flags.secretsFile)
  return {
    paths: paths.length === 0 ? ["."] : paths,
    title,
    mode,
    reporter,
    secrets: secret,
    secretsFile,
    models,
    variants,
  }
}

interface Outcome {
  readonly code: number
  /** What the tests are made of. */
  readonly files: readonly string[]
}

async function testOnce(asked: Asked): Promise<Outcome> {
  const startedAt = performance.now()
  const palette = asked.reporter === "pretty" ? paletteFor(standardOutput) : plain
  const { files, misses } = testFiles(asked.paths)
  const broken: BrokenFile[] = misses.map((problem) => ({ file: "", problem: visibleText(problem) }))
  const loaded: LoadedTests[] = []
  const secrets = new SecretValues(asked.secrets, asked.secretsFile)
  for (const found of files) {
    try {
      loaded.push(loadTests(found, (plan) => secrets.of(plan), palette))
    } catch (error) {
      if (!(error instanceof CannotTest)) throw error
      broken.push({ file: found.file, problem: error.message })
    }
  }
  secrets.refuseUnknown(loaded.length > 0)
  const watched = [...files.map(({ file }) => file), ...loaded.flatMap((one) => one.files)]
  const variants =
    asked.variants === null
      ? variantsOf(loaded, asked.models)
      : sourceVariants(asked.variants, files, (found, change) => {
          return loadTests(found, (plan) => secrets.of(plan), palette, change)
        })
  const matches = (title: string): boolean => asked.title === null || title.includes(asked.title)
  const [first] = variants
  const count = first === undefined ? 0 : casesOf(first.suites, matches).length
  if (count === 0 && loaded.length > 0) {
    broken.push({
      file: "",
      problem: asked.title === null ? "There are no tests." : visibleText(`No test has "${asked.title}" in its title.`),
      isEmpty: true,
    })
  }
  if (asked.mode !== "play" || asked.variants !== null) {
    secrets.refuseMissing(loaded.filter(({ suite }) => suite.tests.some(({ plan }) => matches(plan.title))))
  }
  const code = await runVariants(asked, variants, matches, broken, startedAt)
  return { code, files: watched }
}

/** The test files that paths mean; a workflow means its tests. */
function testFiles(paths: readonly string[]): { readonly files: FoundSource[]; readonly misses: string[] } {
  const found = findSources(paths)
  const misses = [...found.misses, ...found.unreadable.map(({ folder, problem }) => `${folder} ${problem}.`)]
  const named = new Set(paths.map((path) => resolve(path)))
  const files = new Map<string, FoundSource>()
  for (const one of found.files) {
    const { file, root } = one
    if (isTestFile(file)) files.set(resolve(file), one)
    else if (named.has(resolve(file))) {
      const beside = file.replace(/(?:\.wire)?$/, ".test.wire")
      if (existsSync(beside)) files.set(resolve(beside), { file: beside, root })
      else misses.push(`${file} has no tests: there is no ${beside}.`)
    }
  }
  if (files.size === 0 && misses.length === 0) misses.push(`${paths.join(", ")}: no .test.wire files.`)
  return { files: [...files.values()], misses }
}

async function runVariants(
  asked: Asked,
  variants: readonly Variant[],
  matches: (title: string) => boolean,
  broken: BrokenFile[],
  startedAt: number,
): Promise<number> {
  const { settings, wrong } = readSettings({ ...process.env, WIRE_STORE: "memory" }, {})
  if (settings === null) throw new WrongValue(...wrong)
  const plans = variants.flatMap(({ suites }) => suites.flatMap(({ tested }) => [tested.plan, tested.judges]))
  // Loaded now: `wire help` and wrong command lines do not need it.
  const { composeTests } = await import("../compose/compose-runs.ts")
  const engines = await composeTests(settings, plans, reportBug)
  const stop = stopSignal()
  const stopped = new AbortController()
  void stop.asked.then(() => stopped.abort(new Error("The tests were stopped")))
  const outcomes: { readonly variant: Variant; readonly results: readonly TestResult[] }[] = []
  try {
    const recordings = openRecordings(asked, engines, variants, broken)
    const total = variants.reduce((sum, { suites }) => sum + casesOf(suites, matches).length, 0)
    const progress = new TestProgress(total)
    try {
      for (const variant of variants) {
        const own = played(recordings, engines, variant)
        const cases = casesOf(variant.suites, matches).filter(({ suite }) => own.has(suite.file))
        const results = await runCases(
          cases,
          ({ file }, sample) => engines.engine(own.get(file) ?? engines.recording("play", {}), sample),
          (result) => progress.done(result),
          stopped.signal,
        )
        outcomes.push({ variant, results })
      }
    } finally {
      progress.clear()
    }
    if (stopped.signal.aborted) {
      complain("Stopped.")
      return 130
    }
    if (asked.mode === "record") {
      keepRecordings(
        asked,
        engines,
        recordings,
        outcomes.flatMap(({ results }) => results),
      )
    }
  } catch (error) {
    if (!(error instanceof WrongRecording)) throw error
    complain(visibleText(error.message))
    return 2
  } finally {
    stop.ignore()
    await engines.close()
  }
  const results = outcomes.flatMap((outcome) => outcome.results)
  const linesOf = new Map(variants.flatMap(({ suites }) => suites.map(({ file, lines }) => [file, lines])))
  const report: Report = { results, broken, lineOf: (file, offset) => linesOf.get(file)?.position(offset).line ?? 1 }
  const columns = outcomes.map(({ variant: { name }, results: own }) => ({ name, results: own }))
  write(asked, report, columns, performance.now() - startedAt)
  if (broken.length > 0) return 2
  if (asked.variants !== null) return worse(columns).length === 0 ? 0 : 1
  return results.every(({ passed }) => passed) ? 0 : 1
}

function openRecordings(
  { mode }: Asked,
  engines: RecordedTestEngines,
  variants: readonly Variant[],
  broken: BrokenFile[],
): Map<string, Recording> {
  const recordings = new Map<string, Recording>()
  for (const { file } of variants[0]?.suites ?? []) {
    try {
      const exchanges = readRecordingFile(recordingPath(file), mode, (text) => engines.read(text), rootOf(file))
      recordings.set(file, engines.recording(mode, exchanges))
    } catch (error) {
      if (!(error instanceof WrongRecording)) throw error
      broken.push({ file, problem: visibleText(error.message) })
    }
  }
  return recordings
}

/** What no test used is dropped, where all tests ran as they are written, and to their ends. */
function keepRecordings(
  asked: Asked,
  engines: RecordedTestEngines,
  recordings: ReadonlyMap<string, Recording>,
  results: readonly TestResult[],
): void {
  const all = asked.title === null && asked.models.length === 0
  for (const [file, recording] of recordings) {
    const own = results.filter((result) => result.file === file)
    const whole = all && own.every(({ runs }) => runs.every(({ cutShort }) => !cutShort))
    const exchanges = recording.exchanges(whole ? "used" : "all")
    writeExchanges(recordingPath(file), exchanges, (kept) =>
      Object.keys(kept).length === 0 ? null : engines.write(kept),
    )
  }
}

function write(
  { reporter, models, variants }: Asked,
  report: Report,
  columns: readonly VariantColumn[],
  elapsed_ms: number,
): void {
  const named = columns.map(({ name, results }) => ({ name: name ?? "", results }))
  switch (reporter) {
    case "json":
      standardOutput.document(
        variants === null
          ? `${reportJson(report, models.length === 0 ? [] : named)}\n`
          : `${reportVariants(columns, report.broken)}\n`,
      )
      return
    case "junit":
      standardOutput.document(`${reportJunit(report)}\n`)
      return
    case "pretty":
      if (variants !== null) {
        for (const { problem } of report.broken) complain(problem)
        standardOutput.print(showVariants(columns))
        return
      }
      if (models.length > 1) standardOutput.print(`${showComparison(named)}\n`)
      standardOutput.print(reportPretty(report, elapsed_ms, paletteFor(standardOutput)))
  }
}

/** Until Ctrl+C: again whenever one of the files changes. */
async function testAgainAndAgain(asked: Asked): Promise<Outcome> {
  const stop = new AbortController()
  process.once("SIGINT", () => stop.abort())
  for (;;) {
    const outcome = await testOnce(asked)
    if (outcome.code === 130 || stop.signal.aborted) return outcome
    complain("Waiting for a change; press Ctrl+C to stop.")
    await changeOf(outcome.files.length === 0 ? asked.paths : outcome.files, stop.signal)
    if (stop.signal.aborted) return outcome
  }
}
