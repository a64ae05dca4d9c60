import type { Program } from "../../check/program.ts"
import { compileFile } from "../../compiler/folder-texts.ts"
import { complain } from "../terminal/complain.ts"
import { showIssue, showProblem } from "../terminal/show-issue.ts"
import { paletteFor } from "../terminal/terminal.ts"
import { diagnosisOf } from "./diagnose.ts"
import { readSource } from "./read-source.ts"

/** A workflow without errors; null after they were printed. */
export function readTriggers(file: string): Program | null {
  const palette = paletteFor(process.stderr)
  const source = readSource(file)
  if (source.text === null) {
    complain(showProblem(file, source.problem, palette))
    return null
  }
  const { program, diagnostics, plan } = compileFile(file, source.text)
  if (plan !== undefined) return program
  const { issues, lines } = diagnosisOf(source.text, diagnostics)
  for (const issue of issues) complain(showIssue(file, source.text, lines, issue, palette))
  return null
}
