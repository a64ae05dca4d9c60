import { standardError } from "./screen.ts"
import { distinctFailures, totalsOf, usageText, type Report } from "../../testing/report.ts"
import { nameOf, type TestResult } from "../../testing/run-suites.ts"
import { count } from "./count.ts"
import { LiveLines, seconds } from "./run-progress.ts"
import { paletteFor, type Palette } from "./terminal.ts"
import { visibleText } from "../../base/visible-text.ts"

/** Details of one failure that are shown at most. */
const maxDetails = 60

/** The line that says how far the tests are, on a terminal. */
export class TestProgress {
  readonly #live: LiveLines | null
  readonly #palette = paletteFor(standardError)
  readonly #total: number
  #done = 0
  #failed = 0
  #drawn = 0

  constructor(total: number) {
    const isTerminal = standardError.isTerminal && process.env["TERM"] !== "dumb"
    this.#live = isTerminal ? new LiveLines(standardError) : null
    this.#total = total
    this.#draw()
  }

  done(result: TestResult): void {
    this.#done++
    if (!result.passed) this.#failed++
    if (performance.now() - this.#drawn > 50) this.#draw()
  }

  #draw(): void {
    this.#drawn = performance.now()
    const failed = this.#failed === 0 ? "" : `, ${this.#palette.error(`${this.#failed} failed`)}`
    this.#live?.draw([`${this.#done} of ${count(this.#total, "test")}${failed}`])
  }

  clear(): void {
    this.#live?.clear()
  }
}

/** What failed, where, what was expected and what was found; then the totals. */
export function reportPretty({ results, broken, lineOf }: Report, elapsed_ms: number, palette: Palette): string {
  const out: string[] = []
  for (const { problem } of broken) out.push(problem, "")
  for (const [file, own] of Map.groupBy(results, (result) => result.file)) {
    const failed = own.filter((result) => !result.passed)
    if (failed.length === 0) {
      out.push(`${palette.hint("✓")} ${visibleText(file)} ${palette.faint(`(${count(own.length, "test")})`)}`)
      continue
    }
    out.push(
      `${palette.error("✗")} ${palette.bold(visibleText(file))} ${palette.faint(`(${failed.length} of ${count(own.length, "test")} failed)`)}`,
    )
    for (const result of failed) out.push("", ...showFailed(result, lineOf, palette))
    out.push("")
  }
  const totals = totalsOf(results)
  const unrun = broken.filter(({ isEmpty }) => isEmpty !== true).length
  const parts = [
    `${totals.passed} passed`,
    ...(totals.failed > 0 ? [palette.error(`${totals.failed} failed`)] : []),
    ...(unrun > 0 ? [palette.error(`${count(unrun, "file")} could not run`)] : []),
  ]
  out.push(`${parts.join(", ")} in ${seconds(elapsed_ms)}, ${usageText(totals.usage)}.`)
  return out.join("\n")
}

function showFailed(result: TestResult, lineOf: Report["lineOf"], palette: Palette): string[] {
  const { file, runs } = result
  const passed = runs.filter(({ failures }) => failures.length === 0).length
  const share = runs.length === 1 ? "" : palette.faint(` (${passed} of ${count(runs.length, "sample")} passed)`)
  const out = [`  ${palette.error("✗")} ${palette.bold(visibleText(nameOf(result)))}${share}`]
  for (const { failure, times } of distinctFailures(result)) {
    const often = runs.length === 1 ? "" : palette.faint(` (${times}×)`)
    const place = palette.faint(`${visibleText(file)}:${lineOf(file, failure.at)}`)
    out.push(`    ${visibleText(failure.text)}${often}  ${place}`)
    const shown = failure.details.slice(0, maxDetails)
    for (const line of shown) out.push(`      ${paint(visibleText(line), palette)}`)
    const more = failure.details.length - shown.length
    if (more > 0) out.push(`      ${palette.faint(`… ${count(more, "more line")}`)}`)
  }
  return out
}

function paint(line: string, palette: Palette): string {
  if (line.startsWith("- ")) return palette.error(line)
  return line.startsWith("+ ") ? palette.hint(line) : line
}
