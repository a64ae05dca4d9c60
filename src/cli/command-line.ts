import { Command, CommanderError } from "commander"
import about from "../../package.json" with { type: "json" }
import { bugReport } from "./terminal/complain.ts"

/**
 * Parses the command line and runs its command. Exit codes of every command: 0 all is well, 1 something is wrong with the
 * files, 2 something is wrong with the command line, 3 something is wrong with Wireworks.
 */
export async function runCommandLine(): Promise<void> {
  // The reader of our output may stop early (`wire check . | head`).
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
  })
  try {
    await (await commandLine(process.argv[2])).parseAsync()
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 2
    } else {
      process.stderr.write(`This is a bug in wire ${about.version}, not a mistake of yours:\n${bugReport(error)}\n`)
      process.exitCode = 3
    }
  }
}

type AddCommand = (program: Command) => void

/** In the order of the help. A command's module is loaded when the command is used: a service has no use for the others. */
const commands: ReadonlyMap<string | undefined, () => Promise<AddCommand>> = new Map([
  ["check", async (): Promise<AddCommand> => (await import("./commands/check.ts")).addCheck],
  ["fmt", async () => (await import("./commands/fmt.ts")).addFmt],
  ["run", async () => (await import("./commands/run.ts")).addRun],
  ["test", async () => (await import("./commands/test.ts")).addTest],
  ["serve", async () => (await import("./commands/serve.ts")).addServe],
  ["types", async () => (await import("./commands/types.ts")).addTypes],
  ["bundle", async () => (await import("./commands/bundle.ts")).addBundle],
  ["reach", async () => (await import("./commands/reach.ts")).addReach],
  ["schedule", async () => (await import("./commands/schedule.ts")).addSchedule],
  ["webhook", async () => (await import("./commands/webhook.ts")).addWebhook],
  ["init", async () => (await import("./commands/init.ts")).addInit],
  ["runs", async () => (await import("./commands/runs.ts")).addRuns],
  ["questions", async () => (await import("./commands/questions.ts")).addQuestions],
  ["answer", async () => (await import("./commands/questions.ts")).addAnswer],
  ["audit", async () => (await import("./commands/audit.ts")).addAudit],
  ["store", async () => (await import("./commands/store.ts")).addStore],
  ["api", async () => (await import("./commands/api.ts")).addApi],
  ["mcp", async () => (await import("./commands/mcp.ts")).addMcp],
  ["lsp", async () => (await import("./commands/lsp.ts")).addLsp],
])

/** With the command of that name; with all of them when there is none. */
async function commandLine(name: string | undefined): Promise<Command> {
  const program = new Command("wire")
    .description("Checks, formats, runs and serves AI workflows written in .wire files.")
    .version(about.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .showHelpAfterError("(add --help to see how it is used)")
    .exitOverride()
  const chosen = commands.get(name)
  for (const load of chosen === undefined ? commands.values() : [chosen]) (await load())(program)
  return program
}
