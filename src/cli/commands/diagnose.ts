import { basename, dirname, join } from "node:path"
import type { Program } from "../../check/program.ts"
import { compileFile, FolderTexts, pathFrom, rootFor } from "../../compiler/folder-texts.ts"
import { compileLoaded } from "./compile-loaded.ts"
import { compileTests, isTestFile, type CompiledTests } from "../../compile-tests.ts"
import { isError, toIssue, type Diagnostic, type Issue } from "../../source/diagnostic.ts"
import { LineMap } from "../../source/line-map.ts"
import { readFoundSource } from "./read-source.ts"

/** Everything that is wrong with a source, in the order of its text. */
export interface Diagnosis {
  readonly lines: LineMap
  readonly issues: readonly Issue[]
  readonly errors: number
  readonly warnings: number
}

/** A test file is also checked against the workflow that it tests. Code is not loaded. */
export function diagnose(file: string, text: string, root?: string): Diagnosis {
  const compiled = isTestFile(file) ? compileTestFile(file, text, root) : compileFile(file, text, root)
  return diagnosisOf(text, compiled.diagnostics)
}

/** The same, with the code of a workflow loaded. */
export async function diagnoseLoaded(file: string, text: string, root?: string): Promise<Diagnosis> {
  if (isTestFile(file)) return diagnose(file, text, root)
  const compiled = await compileLoaded(file, text, root)
  return diagnosisOf(text, compiled.diagnostics)
}

export function compileTestFile(file: string, text: string, root?: string): CompiledTests {
  const within = rootFor(file, root)
  const tested = (path: string): Program | undefined => {
    const workflow = join(dirname(file), path)
    const { text: source } = readFoundSource(workflow, within)
    return source === null ? undefined : compileFile(workflow, source, within).program
  }
  return compileTests(text, basename(file), tested, { texts: new FolderTexts(within), file: pathFrom(within, file) })
}

export function diagnosisOf(text: string, diagnostics: readonly Diagnostic[]): Diagnosis {
  const lines = new LineMap(text)
  const issues = diagnostics.map((diagnostic) => toIssue(diagnostic, lines))
  const errors = issues.filter(isError).length
  return { lines, issues, errors, warnings: issues.length - errors }
}
