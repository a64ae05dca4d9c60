import { standardError } from "../terminal/screen.ts"
import { compileFile, type CompiledFile } from "../../compiler/folder-texts.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { isError } from "../../source/diagnostic.ts"
import { CommandFailure } from "../terminal/command-failure.ts"
import { count } from "../terminal/count.ts"
import { showIssue, showProblem } from "../terminal/show-issue.ts"
import { paletteFor } from "../terminal/terminal.ts"
import { compileLoaded } from "./compile-loaded.ts"
import { diagnosisOf } from "./diagnose.ts"
import { readSource } from "./read-source.ts"

type Source = ReturnType<typeof readSource>

/** A workflow without errors. Its code is not loaded. Throws a `CommandFailure` that shows them. */
export function compileWorkflow(file: string): CompiledFile & { readonly plan: Plan } {
  const text = textOf(file, readSource(file))
  return planned(file, text, compileFile(file, text))
}

/** The same, with the code of the file loaded; `undone` begins the last line about errors: `Not run`. */
export async function compileToRun(
  file: string,
  undone?: string,
  source: Pick<Source, "text" | "problem"> = readSource(file),
): Promise<CompiledFile & { readonly plan: Plan }> {
  const text = textOf(file, source)
  return planned(file, text, await compileLoaded(file, text), undone)
}

function textOf(file: string, { text, problem }: Pick<Source, "text" | "problem">): string {
  if (text === null) throw new CommandFailure(showProblem(file, problem ?? "", paletteFor(standardError)))
  return text
}

function planned(
  file: string,
  text: string,
  { plan, ...compiled }: CompiledFile,
  undone?: string,
): CompiledFile & { readonly plan: Plan } {
  if (plan !== undefined) return { ...compiled, plan }
  const { lines, issues, errors } = diagnosisOf(text, compiled.diagnostics)
  const palette = paletteFor(standardError)
  const shown = issues.filter(isError).map((issue) => `${showIssue(file, text, lines, issue, palette)}\n`)
  if (undone !== undefined) shown.push(`${undone}: ${count(errors, "error")}.`)
  throw new CommandFailure(shown.join("\n"))
}
