import { onOutputError, standardError, standardOutput } from "./terminal/screen.ts"
import { Command, CommanderError } from "commander"
import about from "../../package.json" with { type: "json" }
import { CommandFailure } from "./terminal/command-failure.ts"
import { bugReport, complain } from "./terminal/complain.ts"

/**
 * Parses the command line and runs its command. Exit codes of every command: 0 all is well, 1 something is wrong with the
 * files, 2 something is wrong with the command line, 3 something is wrong with Wireworks.
 */
export async function runCommandLine(): Promise<void> {
  // The reader of our output may stop early (`wire check . | head`).
  onOutputError((error) => {
    if (error.code !== "EPIPE") throw error
  })
  try {
    await (await commandLine(process.argv.slice(2))).parseAsync()
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 2
    } else if (error instanceof CommandFailure) {
      complain(error.message)
      process.exitCode = error.exitCode
    } else {
      complain(`This is a bug in wire ${about.version}, not a mistake of yours:\n${bugReport(error)}`)
      process.exitCode = 3
    }
  }
}

interface CommandRow {
  readonly name: string
  /** Its line in the list of all commands. */
  readonly summary: string
  /** Loads what gives the command its description, arguments, options and action. */
  readonly load: () => Promise<(command: Command) => void>
}

/** In the order of the help. A command's module is loaded when the command is used: the list of all commands does without them. */
const commands: readonly CommandRow[] = [
  {
    name: "check",
    summary: "report what is wrong with workflows",
    load: async () => (await import("./commands/check.ts")).checkCommand,
  },
  {
    name: "fmt",
    summary: "write workflows in their canonical form",
    load: async () => (await import("./commands/fmt.ts")).fmtCommand,
  },
  {
    name: "explain",
    summary: "print the page of a diagnostic's code",
    load: async () => (await import("./commands/explain.ts")).explainCommand,
  },
  {
    name: "run",
    summary: "run a workflow here and print its result",
    load: async () => (await import("./commands/run.ts")).runCommand,
  },
  {
    name: "test",
    summary: "run the tests of workflows",
    load: async () => (await import("./commands/test.ts")).testCommand,
  },
  {
    name: "serve",
    summary: "run the service",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  {
    name: "types",
    summary: "write the types of a folder of workflows",
    load: async () => (await import("./commands/types.ts")).typesCommand,
  },
  {
    name: "bundle",
    summary: "print a workflow with all files that it needs",
    load: async () => (await import("./commands/bundle.ts")).bundleCommand,
  },
  {
    name: "reach",
    summary: "say what a workflow can do at most",
    load: async () => (await import("./commands/reach.ts")).reachCommand,
  },
  {
    name: "diff",
    summary: "say what a change of a workflow means",
    load: async () => (await import("./commands/diff.ts")).diffCommand,
  },
  {
    name: "schedule",
    summary: "print the next times of a workflow's schedules",
    load: async () => (await import("./commands/schedule.ts")).scheduleCommand,
  },
  {
    name: "webhook",
    summary: "try the webhooks of a workflow",
    load: async () => (await import("./commands/webhook.ts")).webhookCommand,
  },
  {
    name: "init",
    summary: "start a project of workflows",
    load: async () => (await import("./commands/init.ts")).initCommand,
  },
  {
    name: "runs",
    summary: "list the runs of a service; show, follow, cancel, delete and repeat them",
    load: async () => (await import("./commands/runs.ts")).runsCommand,
  },
  {
    name: "versions",
    summary: "list the versions of a workflow at a service; serve and withdraw them",
    load: async () => (await import("./commands/versions.ts")).versionsCommand,
  },
  {
    name: "move",
    summary: "move runs that wait to another version of their workflow",
    load: async () => (await import("./commands/move.ts")).moveCommand,
  },
  {
    name: "budgets",
    summary: "show the budgets of a service, and what is used of them",
    load: async () => (await import("./commands/budgets.ts")).budgetsCommand,
  },
  {
    name: "release",
    summary: "show, stop and promote the candidates of workflows",
    load: async () => (await import("./commands/release.ts")).releaseCommand,
  },
  {
    name: "questions",
    summary: "list what the runs of a service ask people",
    load: async () => (await import("./commands/questions.ts")).questionsCommand,
  },
  {
    name: "answer",
    summary: "answer a question of a run",
    load: async () => (await import("./commands/questions.ts")).answerCommand,
  },
  {
    name: "erase",
    summary: "erase the runs of a customer at a service",
    load: async () => (await import("./commands/erase.ts")).eraseCommand,
  },
  {
    name: "files",
    summary: "list the files of a service; send, get and delete them",
    load: async () => (await import("./commands/files.ts")).filesCommand,
  },
  {
    name: "events",
    summary: "send an event to runs that wait for it",
    load: async () => (await import("./commands/events.ts")).eventsCommand,
  },
  {
    name: "audit",
    summary: "check an audit trail",
    load: async () => (await import("./commands/audit.ts")).auditCommand,
  },
  {
    name: "store",
    summary: "check, back up or move the store of runs, change its key, or erase again",
    load: async () => (await import("./commands/store.ts")).storeCommand,
  },
  {
    name: "api",
    summary: "declare HTTP APIs from their documents",
    load: async () => (await import("./commands/api.ts")).apiCommand,
  },
  {
    name: "mcp",
    summary: "inspect MCP servers, and serve workflows or the documentation as one",
    load: async () => (await import("./commands/mcp.ts")).mcpCommand,
  },
  {
    name: "lsp",
    summary: "serve editors over the Language Server Protocol",
    load: async () => (await import("./commands/lsp.ts")).lspCommand,
  },
]

async function commandLine(args: readonly string[]): Promise<Command> {
  const program = new Command("wire")
    .description("Checks, formats, runs and serves AI workflows written in .wire files.")
    .version(about.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .showHelpAfterError("(add --help to see how it is used)")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => standardOutput.print(text.replace(/\n$/, "")),
      writeErr: (text) => standardError.print(text.replace(/\n$/, "")),
    })
  const [name, ofHelp] = args.filter((arg) => !arg.startsWith("-"))
  const chosen = name === "help" ? ofHelp : name
  for (const row of commands) {
    const command = program.command(row.name).summary(row.summary)
    if (row.name === chosen) (await row.load())(command)
  }
  // Whether it was loaded or not. Set last: its own commands would inherit it.
  return program.configureHelp({ subcommandTerm: (command) => command.name() })
}
