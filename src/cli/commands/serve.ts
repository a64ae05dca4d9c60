import { standardError } from "../terminal/screen.ts"
import type { Command } from "commander"
import { endProcess } from "../terminal/end-process.ts"
import { flagOf, readSettings, settingTable } from "../compose/settings.ts"

export function serveCommand(command: Command): void {
  command
    .argument("[folder]", "folder whose .wire files are served by name (WIRE_WORKFLOWS)")
    .description("Runs the service until it is stopped with SIGINT or SIGTERM. Each option is also a variable.")
    .addHelpText(
      "after",
      `
Examples:
  wire serve
  wire serve ./workflows
  wire serve --port 8080 --store memory
  WIRE_API_KEYS=ann:s3cret wire serve --host 0.0.0.0

Exit code: 0 after a stop, 1 when it cannot start, 2 for a wrong setting.`,
    )
  for (const { env, description, default: preset } of Object.values(settingTable)) {
    const fallback = preset === undefined || preset === "" ? "" : `, default ${preset}`
    command.option(`${flagOf(env)} <value>`, `${description} (WIRE_${env}${fallback})`)
  }
  command.action(async (folder: string | undefined, flags: Record<string, string | undefined>) => {
    const given = folder === undefined ? flags : { ...flags, workflows: folder }
    const { settings, wrong, unknown } = readSettings(process.env, given)
    for (const sentence of [...unknown, ...wrong]) standardError.print(sentence)
    if (settings === null) {
      process.exitCode = 2
      return
    }
    const { serve } = await import("../compose/service.ts")
    process.exitCode = await serve(settings)
    endProcess()
  })
}
