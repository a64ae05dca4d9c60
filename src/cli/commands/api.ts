import { standardOutput } from "../terminal/screen.ts"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import type { Command } from "commander"
import { importBytes } from "../../base/limits.ts"
import { visibleText } from "../../base/visible-text.ts"
import { importApi } from "../../api-import/import-api.ts"
import { readDocument } from "../../api-import/read-document.ts"
import { complain } from "../terminal/complain.ts"
import { count } from "../terminal/count.ts"
import { whyUnreadable, whyUnwritable } from "./file-errors.ts"
import { CommandFailure } from "../terminal/command-failure.ts"

interface ImportFlags {
  readonly as: string
  readonly only?: string
  readonly out?: string
}

export function apiCommand(command: Command): void {
  command
    .description("Writes declarations of HTTP APIs.")
    .command("import")
    .summary("write an OpenAPI document as declarations")
    .description(
      "Writes an `api` and its tools from an OpenAPI 3.0 or 3.1 document. Nothing is fetched, and comments say what is left out.",
    )
    .argument("<file>", "the document: JSON or YAML")
    .requiredOption("--as <name>", "what the api is called")
    .option("--only <patterns>", "operation ids to import, with commas between them; * stands for any text")
    .option("--out <file>", "file to write; else standard output")
    .addHelpText(
      "after",
      `
Examples:
  wire api import openapi.json --as crm --out crm.wire
  wire api import openapi.yaml --as crm --only 'find*,add*'

Exit code: 0 when the declarations are written, 1 when the document cannot be used, 2 for a wrong command line.`,
    )
    .action(async (file: string, flags: ImportFlags, command: Command) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(flags.as)) {
        command.error(`error: --as ${visibleText(flags.as)}: it must be letters, digits and _`)
      }
      await importDocument(file, flags)
    })
}

async function importDocument(file: string, { as, only = "", out }: ImportFlags): Promise<void> {
  let bytes: Uint8Array
  try {
    // A file that is too large is not read.
    bytes = statSync(file).size > importBytes ? new Uint8Array(importBytes + 1) : readFileSync(file)
  } catch (error) {
    throw new CommandFailure(visibleText(`${file} ${whyUnreadable(error)}`))
  }
  const read = await readDocument(bytes)
  if ("problem" in read) throw new CommandFailure(visibleText(`${file}: ${read.problem}`))
  const patterns = only.split(",").map((pattern) => pattern.trim())
  const outcome = importApi(read.document, { as, only: patterns.filter((pattern) => pattern !== "") })
  if ("problem" in outcome) throw new CommandFailure(visibleText(`${file}: ${outcome.problem}`))
  if (out === undefined) standardOutput.document(outcome.text)
  else {
    try {
      writeFileSync(out, outcome.text)
    } catch (error) {
      throw new CommandFailure(visibleText(`${out} ${whyUnwritable(error)}`))
    }
  }
  const left =
    outcome.left === 0 ? "Nothing was left out." : `${count(outcome.left, "thing")} left out: see the comments.`
  complain(visibleText(`${count(outcome.tools, "tool")}${out === undefined ? "" : ` in ${out}`}. ${left}`))
}
