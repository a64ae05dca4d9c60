import { sha256 } from "../../compiler/source-jobs.ts"
import { standardOutput } from "../terminal/screen.ts"
import type { Command } from "commander"
import type { Reach } from "../../trust/reach-shape.ts"
import { reachOf } from "../../trust/reach.ts"
import { growthOf } from "../../trust/reach-growth.ts"
import { reachAsMarkdown, showReach } from "../../trust/show-reach.ts"
import { visibleJson, visibleText } from "../../base/visible-text.ts"
import { readNamedFile } from "./read-file.ts"
import { CommandFailure } from "../terminal/command-failure.ts"
import { compileToRun } from "./compile-workflow.ts"

interface ReachFlags {
  readonly json?: true
  readonly markdown?: true
  readonly check?: string
}

export function reachCommand(command: Command): void {
  command
    .description(
      "Says what a workflow can do at most: the hosts that it calls and what they get, its tools and what guards them, what strangers\n" +
        "can decide, the most that it can cost, and every exception. Nothing is run.",
    )
    .argument("<file>", "a workflow")
    .option("--json", "print JSON, to be kept beside the workflow")
    .option("--markdown", "print tables for a pull request")
    .option("--check <file>", "exit with 1 and a diff when the reach is more than that of this JSON file")
    .addHelpText(
      "after",
      `
Examples:
  wire reach flow.wire
  wire reach flow.wire --json > flow.reach.json
  wire reach flow.wire --check flow.reach.json
  wire reach flow.wire --markdown >> "$GITHUB_STEP_SUMMARY"

Exit code: 0 when all is well, 1 when the workflow is wrong or its reach grew, 2 for a wrong command line.`,
    )
    .action(printReach)
}

async function printReach(file: string, { json, markdown, check }: ReachFlags): Promise<void> {
  const reach = reachOf((await compileToRun(file)).program, sha256)
  if (check !== undefined) return checkReach(file, reach, check)
  if (json === true) standardOutput.print(visibleJson(reach, 2))
  else standardOutput.print((markdown === true ? reachAsMarkdown(file, reach) : showReach(reach)).replace(/\n$/, ""))
}

function checkReach(file: string, reach: Reach, kept: string): void {
  const { text, problem } = readNamedFile(kept)
  const before = text === null ? null : readReach(text)
  if (before === null) {
    const why = problem ?? "does not hold the JSON of a reach"
    throw new CommandFailure(visibleText(`${kept} ${why}. Write it: wire reach ${file} --json > ${kept}`))
  }
  const added = growthOf(before, reach)
  const gone = growthOf(reach, before)
  const diff = [...gone.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)]
  if (diff.length > 0) standardOutput.print(diff.map(visibleText).join("\n"))
  if (added.length === 0) return
  throw new CommandFailure(
    visibleText(`The reach of ${file} grew. If that is right: wire reach ${file} --json > ${kept}`),
  )
}

/** Null for a text that is none. */
function readReach(text: string): Reach | null {
  try {
    const reach = JSON.parse(text) as Reach
    growthOf(reach, reach)
    return reach
  } catch {
    return null
  }
}
