import type { Command } from "commander"
import type { VersionAnswer } from "../../client/client.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { callService, serviceOptions, type ServiceCall, type ServiceFlags } from "./service-call.ts"

interface ServeFlags extends ServiceFlags {
  readonly file?: true
}

const exitCodes = `
Exit code: 0 when all is well, 1 when the service refuses or cannot be reached, 2 for a wrong command line.`

export function versionsCommand(versions: Command): void {
  versions.description(
    "Lists the versions of a workflow that a running service has kept, with your runs of each. With an operator's key: those of all callers.",
  )
  serviceOptions(versions.argument("<workflow>", "the name of the workflow"))
    .addHelpText(
      "after",
      `
Examples:
  wire versions tickets/triage --url https://wire.example.com
  wire versions serve tickets/triage 7f3a12c0ffee
  wire versions serve tickets/triage --file
${exitCodes}`,
    )
    .action((name: string, _: unknown, command: Command) =>
      callService(command.optsWithGlobals<ServiceFlags>(), (call) => list(call, name)),
    )
  serviceOptions(
    versions
      .command("serve")
      .description(
        "Serves a kept version in place of the file, on all replicas, until the file changes. For operators: so a bad file is taken back.",
      )
      .argument("<workflow>", "the name of the workflow")
      .argument("[version]", "a version that `wire versions` lists")
      .option("--file", "serve the file again"),
  )
    .addHelpText("after", exitCodes)
    .action((name: string, version: string | undefined, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ServeFlags>()
      return callService(flags, (call) => serve(call, name, version, flags))
    })
  serviceOptions(
    versions
      .command("withdraw")
      .description(
        "Ends that callers can ask for a version which does not serve any more. Its runs go on. For operators.",
      )
      .argument("<workflow>", "the name of the workflow")
      .argument("<version>", "a version that `wire versions` lists"),
  )
    .addHelpText("after", exitCodes)
    .action((name: string, version: string, _: unknown, command: Command) =>
      callService(command.optsWithGlobals<ServiceFlags>(), async (call) => {
        const withdrawn = await call.client.withdrawVersion(name, version)
        call.print(withdrawn, () => [`Version ${version} of ${name} is withdrawn.`])
      }),
    )
}

async function list(call: ServiceCall, name: string): Promise<void> {
  const versions = await call.client.versions(name)
  const rows = versions.map(({ version, serving, withdrawn, first_served_at, last_served_at, runs }: VersionAnswer) => [
    version,
    serving ?? (withdrawn === true ? "withdrawn" : null),
    minute(first_served_at),
    minute(last_served_at),
    String(runs.open),
    String(runs.waiting),
    String(runs.ended),
  ])
  const heads = ["VERSION", "SERVES", "FIRST SERVED", "LAST SERVED", "OPEN", "WAITING", "ENDED"]
  call.table({ versions }, heads, rows, `No version of ${name} is kept.`)
}

async function serve(
  call: ServiceCall,
  name: string,
  version: string | undefined,
  { file }: ServeFlags,
): Promise<void> {
  if ((version === undefined) === (file === undefined)) throw new WrongValue("Give a version, or --file.")
  const served = await call.client.serveVersion(name, version ?? null)
  const how = served.pinned === true ? ", in place of its file" : ": that of its file"
  call.print(served, () => [`${name} serves version ${served.version}${how}.`])
}

function minute(time: string): string {
  return time.replace("T", " ").replace(/:\d\d\.\d+Z$/, "Z")
}
