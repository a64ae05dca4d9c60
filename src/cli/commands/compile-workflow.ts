import { standardError } from "../terminal/screen.ts"
import { compileFile, type CompiledFile } from "../../compiler/folder-texts.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { isError } from "../../source/diagnostic.ts"
import { CommandFailure } from "../terminal/command-failure.ts"
import { count } from "../terminal/count.ts"
import { showIssue, showProblem } from "../terminal/show-issue.ts"
import { paletteFor } from "../terminal/terminal.ts"
import { diagnosisOf } from "./diagnose.ts"
import { readSource } from "./read-source.ts"

/** A workflow without errors. Throws a `CommandFailure` that shows them; `undone` begins its last line: `Not run`. */
export function compileWorkflow(
  file: string,
  undone?: string,
  source:
    | { readonly text: string; readonly problem: null }
    | { readonly text: null; readonly problem: string } = readSource(file),
): CompiledFile & { readonly plan: Plan } {
  const palette = paletteFor(standardError)
  const { text, problem } = source
  if (text === null) throw new CommandFailure(showProblem(file, problem, palette))
  const { plan, ...compiled } = compileFile(file, text)
  if (plan !== undefined) return { ...compiled, plan }
  const { lines, issues, errors } = diagnosisOf(text, compiled.diagnostics)
  const shown = issues.filter(isError).map((issue) => `${showIssue(file, text, lines, issue, palette)}\n`)
  if (undone !== undefined) shown.push(`${undone}: ${count(errors, "error")}.`)
  throw new CommandFailure(shown.join("\n"))
}
