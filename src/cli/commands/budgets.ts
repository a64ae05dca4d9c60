import type { Command } from "commander"
import { callService, serviceOptions, type ServiceFlags } from "./service-call.ts"

export function budgetsCommand(command: Command): void {
  command.description("Shows your budgets at a running service, and what is used of them. With an operator's key: all.")
  serviceOptions(command)
    .addHelpText(
      "after",
      `
Examples:
  wire budgets --url https://wire.example.com
  wire budgets --json | jq '.budgets[] | select(.used > 0.9 * .limit)'

Exit code: 0 when all is well, 1 when the service refuses or cannot be reached, 2 for a wrong command line.`,
    )
    .action((flags: ServiceFlags) =>
      callService(flags, async (call) => {
        const budgets = await call.client.budgets()
        const rows = budgets.map(({ path, caller, limit, used, reserved, resets_at }) => [
          caller === undefined ? path : `${path} (${caller})`,
          String(limit),
          String(used),
          String(reserved),
          resets_at.replace("T", " ").replace(/\.\d+Z$/, "Z"),
        ])
        const heads = ["BUDGET", "LIMIT", "USED", "RESERVED", "BEGINS ANEW"]
        call.table({ budgets }, heads, rows, "There are no budgets.")
      }),
    )
}
