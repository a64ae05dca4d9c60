import type { Command } from "commander"
import about from "../../package.json" with { type: "json" }
import { LanguageServer } from "../lsp/language-server.ts"

export function addLsp(program: Command): void {
  program
    .command("lsp")
    .summary("serve editors over the Language Server Protocol")
    .description(
      "Speaks the Language Server Protocol over standard input and output, for editors: diagnostics, completion, hover,\n" +
        "definitions, references, rename, outline, folding, colours, quick fixes and formatting.",
    )
    .option("--stdio", "what it does anyway: some editors say so")
    .addHelpText("after", "\nExit code: 0 after `shutdown` and `exit`, 1 when the editor goes without them.")
    .action(async () => {
      process.exitCode = await serveEditor()
    })
}

/** Until the editor is done, or gone. */
async function serveEditor(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const server = new LanguageServer({
    version: about.version,
    write: (bytes) => void process.stdout.write(bytes),
    log: (line) => void process.stderr.write(`${line}\n`),
    exit: (clean) => resolve(clean ? 0 : 1),
  })
  process.stdin.on("data", (chunk: Buffer) => server.receive(chunk))
  process.stdin.on("end", () => server.end())
  process.stdin.on("error", () => server.end())
  const code = await promise
  // Nothing else may keep the process alive.
  process.stdin.destroy()
  return code
}
