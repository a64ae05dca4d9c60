import { standardOutput } from "../terminal/screen.ts"
import type { Command } from "commander"
import type { Issue } from "../../source/diagnostic.ts"
import { count } from "../terminal/count.ts"
import { diagnoseLoaded } from "./diagnose.ts"
import { eachSource, type SourceVisitor } from "./each-source.ts"
import { showIssue, showProblem } from "../terminal/show-issue.ts"
import { Output, paletteFor } from "../terminal/terminal.ts"
import { visibleJson, visibleText } from "../../base/visible-text.ts"

export function checkCommand(command: Command): void {
  command
    .description(
      "Reports everything that is wrong with workflows, each problem with its place, its code and how to fix it.\n" +
        "Nothing is run and nothing is called over the network.",
    )
    .argument("[file...]", "files, folders (every .wire file under them) or quoted patterns; - is standard input")
    .option("--stdin", "read one workflow from standard input")
    .option("--json", "print one JSON document, with issues as POST /validate gives them")
    .addHelpText(
      "after",
      `
Examples:
  wire check flow.wire
  wire check workflows/ "examples/**/*.wire"
  cat flow.wire | wire check -
  wire check --json . | jq '.files[].issues[]'

Exit code: 0 without errors (warnings do not count), 1 with errors or files that cannot be read, 2 for a wrong command line.`,
    )
    .action(async (given: string[], options: { json?: true; stdin?: true }, command: Command) => {
      const output = new Output()
      const paths = given.filter((path) => path !== "-")
      const stdin = options.stdin === true || paths.length < given.length
      const sources: Sources = (visitor) => eachSource(command, paths, stdin, output, visitor)
      process.exitCode = await (options.json === true ? checkForMachines : checkForPeople)(sources, output)
    })
}

type Sources = (visitor: SourceVisitor) => Promise<void>

async function checkForPeople(sources: Sources, output: Output): Promise<number> {
  const palette = paletteFor(standardOutput)
  const total = { files: 0, unreadable: 0, misses: 0, errors: 0, warnings: 0 }

  await sources({
    done: "Checked",
    async source({ file, root, text }) {
      const { lines, issues, errors, warnings } = await diagnoseLoaded(file, text, root)
      total.files++
      total.errors += errors
      total.warnings += warnings
      for (const issue of issues) output.out(`${showIssue(file, text, lines, issue, palette)}\n`)
    },
    unreadable(file, problem) {
      total.unreadable++
      output.out(`${showProblem(file, problem, palette)}\n`)
    },
    miss(sentence) {
      total.misses++
      output.err(visibleText(sentence))
    },
  })

  if (total.files + total.unreadable > 0) output.out(summary(total))
  if (total.misses > 0) return 2
  return total.errors + total.unreadable > 0 ? 1 : 0
}

function summary(total: { files: number; unreadable: number; errors: number; warnings: number }): string {
  const found = [
    ...(total.errors > 0 ? [count(total.errors, "error")] : []),
    ...(total.warnings > 0 ? [count(total.warnings, "warning")] : []),
    ...(total.unreadable > 0 ? [`${count(total.unreadable, "file")} not read`] : []),
  ]
  return `Checked ${count(total.files, "file")}: ${found.length === 0 ? "no problems" : found.join(", ")}.`
}

interface CheckedFile {
  readonly file: string
  readonly valid: boolean
  readonly issues: readonly Issue[]
  /** Why the file could not be read. */
  readonly problem?: string
}

async function checkForMachines(sources: Sources, output: Output): Promise<number> {
  const files: CheckedFile[] = []
  const misses: string[] = []
  const total = { errors: 0, warnings: 0 }
  await sources({
    done: "Checked",
    async source({ file, root, text }) {
      const { issues, errors, warnings } = await diagnoseLoaded(file, text, root)
      total.errors += errors
      total.warnings += warnings
      files.push({ file, valid: errors === 0, issues })
    },
    unreadable: (file, problem) => void files.push({ file, valid: false, issues: [], problem }),
    miss: (sentence) => void misses.push(sentence),
  })
  const valid = misses.length === 0 && files.every((file) => file.valid)
  output.out(visibleJson({ valid, ...total, files, misses }, 2))
  for (const sentence of misses) output.err(visibleText(sentence))
  if (misses.length > 0) return 2
  return valid ? 0 : 1
}
