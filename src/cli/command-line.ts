import { Command, CommanderError } from "commander"
import about from "../../package.json" with { type: "json" }
import { bugReport } from "./bug-report.ts"
import { addCheck } from "./check.ts"
import { addFmt } from "./fmt.ts"
import { addLsp } from "./lsp.ts"
import { addMcp } from "./mcp.ts"
import { addRun } from "./run.ts"
import { addServe } from "./serve.ts"
import { addStore } from "./store.ts"
import { addTest } from "./test.ts"
import { addInit } from "./init.ts"
import { addTypes } from "./types.ts"

/**
 * Parses the command line and runs its command. Exit codes of every command: 0 all is well, 1 something is wrong with the
 * files, 2 something is wrong with the command line, 3 something is wrong with Wireworks.
 */
export async function runCommandLine(): Promise<void> {
  // Whoever reads us may stop early (`wire check . | head`).
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
  })
  try {
    await commandLine().parseAsync()
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 2
    } else {
      process.stderr.write(`This is a bug in wire ${about.version}, not a mistake of yours:\n${bugReport(error)}\n`)
      process.exitCode = 3
    }
  }
}

function commandLine(): Command {
  const program = new Command("wire")
    .description("Checks, formats, runs and serves AI workflows written in .wire files.")
    .version(about.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .showHelpAfterError("(add --help to see how it is used)")
    .exitOverride()
  addCheck(program)
  addFmt(program)
  addRun(program)
  addTest(program)
  addServe(program)
  addTypes(program)
  addInit(program)
  addStore(program)
  addMcp(program)
  addLsp(program)
  return program
}
