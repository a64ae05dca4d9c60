import { standardOutput } from "../terminal/screen.ts"
import type { Command } from "commander"
import { compileToRun } from "./compile-workflow.ts"

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
    .action(printBundle)
}

async function printBundle(file: string): Promise<void> {
  const { text } = await compileToRun(file, "Not bundled")
  const { source: main, ...files } = text
  const body = { workflow_source_base64: Buffer.from(main).toString("base64"), ...files }
  standardOutput.document(`${JSON.stringify(body, null, 2)}\n`)
}
