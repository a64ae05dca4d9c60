import { standardOutput } from "../terminal/screen.ts"
import type { Command } from "commander"
import { planTriggers } from "../../plan/plan-triggers.ts"
import { calendarFor } from "../../workflows/triggers/schedules.ts"
import { compileWorkflow } from "./compile-workflow.ts"
import { CommandFailure } from "../terminal/command-failure.ts"

const printed = 10

export function scheduleCommand(command: Command): void {
  command
    .description(
      "Prints the next ten times of each schedule of a workflow: a line has the name and an RFC 3339 time. Nothing is run.",
    )
    .argument("<file>", "a workflow")
    .addHelpText(
      "after",
      `
Example:
  wire schedule digest.wire

Exit code: 0 when all is well, 1 when the workflow is wrong or has no schedule, 2 for a wrong command line.`,
    )
    .action(printTimes)
}

function printTimes(file: string): void {
  const { program } = compileWorkflow(file)
  const schedules = planTriggers(program).filter((one) => one.kind === "schedule")
  if (schedules.length === 0) {
    throw new CommandFailure(`${file} has no schedule: add \`schedule name { cron: "0 9 * * *" }\`.`)
  }
  for (const plan of schedules) {
    const calendar = calendarFor(plan)
    for (const at of calendar.upcoming(Date.now(), printed)) standardOutput.print(`${plan.name}  ${calendar.show(at)}`)
  }
}
