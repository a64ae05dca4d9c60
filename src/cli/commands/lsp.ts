import type { Command } from "commander"
import about from "../../../package.json" with { type: "json" }
import { loadCode } from "./compile-loaded.ts"
import { serveStdio } from "../../lsp/serve-stdio.ts"

export function lspCommand(command: Command): void {
  command
    .description(
      "Speaks the Language Server Protocol over standard input and output, for editors: diagnostics, completion, hover,\n" +
        "definitions, references, rename, outline, folding, colours, quick fixes and formatting.",
    )
    .option("--stdio", "the default; accepted because some editors pass it")
    .addHelpText("after", "\nExit code: 0 after `shutdown` and `exit`, 1 when the editor goes without them.")
    .action(async () => {
      process.exitCode = await serveStdio(about.version, loadCode)
    })
}
