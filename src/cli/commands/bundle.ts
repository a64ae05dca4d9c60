import type { Command } from "commander"
import { compileFile } from "../../compiler/folder-texts.ts"
import { isError } from "../../source/diagnostic.ts"
import { count } from "../terminal/count.ts"
import { showIssue, showProblem } from "../terminal/show-issue.ts"
import { complain } from "../terminal/complain.ts"
import { paletteFor } from "../terminal/terminal.ts"
import { diagnosisOf } from "./diagnose.ts"
import { readSource } from "./read-source.ts"

export function bundleCommand(command: Command): void {
  command
    .description("Prints the JSON body for POST /execute: the workflow, and all files that it uses.")
    .argument("<file>", "a workflow")
    .addHelpText(
      "after",
      `
Examples:
  wire bundle flows/main.wire > body.json
  wire bundle main.wire | jq '. + {input: {text: "…"}}' | curl -d @- -H 'content-type: application/json' localhost:8080/execute

Exit code: 0, 1 when the workflow has errors, 2 for a wrong command line.`,
    )
    .action((file: string) => {
      process.exitCode = printBundle(file)
    })
}

function printBundle(file: string): number {
  const palette = paletteFor(process.stderr)
  const source = readSource(file)
  if (source.text === null) {
    complain(showProblem(file, source.problem, palette))
    return 1
  }
  const { diagnostics, text } = compileFile(file, source.text)
  if (diagnostics.some(isError)) {
    const { lines, issues, errors } = diagnosisOf(source.text, diagnostics)
    for (const issue of issues.filter(isError)) complain(`${showIssue(file, source.text, lines, issue, palette)}\n`)
    complain(`Not bundled: ${count(errors, "error")}.`)
    return 1
  }
  const { source: main, ...files } = text
  const body = { workflow_source_base64: Buffer.from(main).toString("base64"), ...files }
  process.stdout.write(`${JSON.stringify(body, null, 2)}\n`)
  return 0
}
