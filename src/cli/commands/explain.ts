import { readFileSync } from "node:fs"
import type { Command } from "commander"
import { didYouMean } from "../../base/did-you-mean.ts"
import { codePage } from "../../lsp/code-page.ts"
import { codes } from "../../source/codes.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { standardOutput } from "../terminal/screen.ts"

export function explainCommand(command: Command): void {
  command
    .description(
      "Prints the page of a diagnostic's code: what is wrong, an example, and the same example without the problem.",
    )
    .argument("<code>", "the code, such as unknown-reference")
    .addHelpText(
      "after",
      `
Example:
  wire explain unknown-reference

Exit code: 0 when all is well, 2 for a code that does not exist.`,
    )
    .action(explain)
}

function explain(code: string): void {
  if (!Object.hasOwn(codes, code)) {
    const near = didYouMean(code, Object.keys(codes))
    throw new WrongValue(
      `There is no code ${code}.${near === undefined ? "" : ` Did you mean ${near}?`}`,
      "`wire check` prints the code of each problem in brackets.",
    )
  }
  const page = codePage(code)
  if (page === undefined) throw new Error(`The build has no page for ${code}`)
  standardOutput.document(readFileSync(page, "utf8"))
}
