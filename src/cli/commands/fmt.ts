import { standardError, standardOutput } from "../terminal/screen.ts"
import type { Command } from "commander"
import { basename, join, resolve } from "node:path"
import { rootFor, rootOf } from "../../compiler/folder-texts.ts"
import { findInProject } from "../../compiler/project-path.ts"
import { formatText } from "../../syntax/format.ts"
import { count } from "../terminal/count.ts"
import { diagnosisOf } from "./diagnose.ts"
import { eachSource, type SourceFile } from "./each-source.ts"
import { showIssue, showProblem } from "../terminal/show-issue.ts"
import { Output, paletteFor } from "../terminal/terminal.ts"
import { visibleText } from "../../base/visible-text.ts"
import { writeAtomically } from "./write-atomically.ts"

export function fmtCommand(command: Command): void {
  command
    .description(
      "Writes workflows in their canonical form, in place. The meaning never changes; files with syntax errors are " +
        "reported and left as they are.",
    )
    .argument("[file...]", "files, folders (every .wire file under them) or quoted patterns")
    .option("--check", "write nothing: list the files that would change")
    .option("--stdin", "read one workflow from standard input, print it formatted")
    .addHelpText(
      "after",
      `
Examples:
  wire fmt flow.wire
  wire fmt --check workflows/ "examples/**/*.wire"
  wire fmt --stdin < flow.wire > formatted.wire

Exit code: 0 when all is done, 1 when --check found something to change or a file could not be formatted,
2 for a wrong command line.`,
    )
    .action(async (paths: string[], options: FmtOptions, command: Command) => {
      process.exitCode = await formatAll(paths, options, command)
    })
}

interface FmtOptions {
  readonly check?: true
  readonly stdin?: true
}

type Outcome = "same" | "changed" | "failed"

/** Results go to standard output, complaints to standard error: with `--stdin` the output is the text itself. */
async function formatAll(paths: readonly string[], options: FmtOptions, command: Command): Promise<number> {
  const palette = paletteFor(standardError)
  const output = new Output()
  const total = { same: 0, changed: 0, failed: 0, misses: 0 }

  const formatOne = (source: SourceFile): Outcome => {
    const { file, root, text, version } = source
    const outside = version === undefined ? undefined : projectsOf(file, root).find((within) => leaves(within, file))
    if (outside !== undefined) {
      output.err(showProblem(file, `is a link to a file outside of ${outside}: name that file itself`, palette))
      return "failed"
    }
    const result = formatText(text)
    if ("diagnostics" in result) {
      const { lines, issues } = diagnosisOf(text, result.diagnostics)
      for (const issue of issues) output.err(`${showIssue(file, text, lines, issue, palette)}\n`)
      return "failed"
    }
    if (options.check === true) {
      if (result.changed) output.out(visibleText(file))
    } else if (version === undefined) {
      standardOutput.document(result.formatted)
    } else if (result.changed) {
      const problem = writeAtomically(file, result.formatted, version)
      if (problem !== null) {
        output.err(showProblem(file, problem, palette))
        return "failed"
      }
      output.out(visibleText(file))
    }
    return result.changed ? "changed" : "same"
  }

  await eachSource(command, paths, options.stdin === true, output, {
    done: options.check === true ? "Checked" : "Formatted",
    source: (source) => void total[formatOne(source)]++,
    unreadable(file, problem) {
      total.failed++
      output.err(showProblem(file, problem, palette))
    },
    miss(sentence) {
      total.misses++
      output.err(visibleText(sentence))
    },
  })

  if (options.stdin !== true) output.err(summary(total, options.check === true))
  if (total.misses > 0) return 2
  return total.failed > 0 || (options.check === true && total.changed > 0) ? 1 : 0
}

/** The folder that was given, and the project around it: a folder that is a link leads out of the project, too. */
function projectsOf(file: string, given: string | undefined): readonly string[] {
  const within = rootFor(file, given)
  return given === undefined ? [within] : [within, rootOf(join(given, basename(file)))]
}

function leaves(root: string, file: string): boolean {
  const place = findInProject(root, resolve(file))
  return "problem" in place && place.problem === "outside"
}

function summary(total: { same: number; changed: number; failed: number }, check: boolean): string {
  const parts = [
    ...(total.changed > 0 ? [`${count(total.changed, "file")} ${check ? "would change" : "changed"}`] : []),
    ...(total.same > 0 ? [`${count(total.same, "file")} formatted already`] : []),
    ...(total.failed > 0 ? [`${count(total.failed, "file")} could not be formatted`] : []),
  ]
  return parts.length === 0 ? "No files." : `${parts.join(", ")}.`
}
