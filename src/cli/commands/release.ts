import { existsSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Command } from "commander"
import { compileFile } from "../../compiler/folder-texts.ts"
import { versionOf } from "../../compiler/version-of.ts"
import { isError } from "../../source/diagnostic.ts"
import { withoutRelease } from "../../syntax/without-release.ts"
import { whyNotName } from "../../workflows/workflow-name.ts"
import type { ReleaseAnswer } from "../../client/client.ts"
import { CommandFailure, WrongValue } from "../terminal/command-failure.ts"
import { standardOutput } from "../terminal/screen.ts"
import { callService, serviceOptions, type ServiceCall, type ServiceFlags } from "./service-call.ts"
import { diagnosisOf } from "./diagnose.ts"
import { whyUnwritable } from "./file-errors.ts"
import { readSource } from "./read-source.ts"
import { writeScratch } from "./write-scratch.ts"

const exits =
  "Exit code: 0 when all is well, 1 when the service refuses or cannot be reached, 2 for a wrong command line."

export function releaseCommand(release: Command): void {
  release.description(
    "Shows how the candidate of a workflow compares with the version that is served, stops it, lets it go on, or puts its\n" +
      "file in place of the current one.",
  )
  ofService(release, "show", "show both sides of a release", (call, name) => call.client.release(name))
  ofService(release, "stop", "stop a candidate: it gets no more traffic", (call, name) =>
    call.client.release(name, { action: "stop" }),
  )
  ofService(release, "resume", "let a stopped candidate go on", (call, name) =>
    call.client.release(name, { action: "resume" }),
  )
  release
    .command("promote")
    .summary("put a candidate in place of the current file")
    .description(
      "Moves NAME.next.wire of a folder over NAME.wire, and takes the `release` block out with the blank lines beside it. Every\n" +
        "other byte stays as it was. A service that follows the folder serves it at once.",
    )
    .argument("<name>", "the name of the workflow")
    .argument("<folder>", "the folder of workflows")
    .addHelpText(
      "after",
      `
Example:
  wire release promote tickets/triage workflows/

Exit code: 0 when all is well, 1 when there is no candidate or it is wrong, 2 for a wrong command line.`,
    )
    .action(promote)
}

function ofService(
  release: Command,
  name: string,
  summary: string,
  ask: (call: ServiceCall, workflow: string) => Promise<ReleaseAnswer>,
): void {
  const command = release
    .command(name)
    .summary(summary)
    .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}. With an operator's key, where there are keys.`)
    .argument("<name>", "the name of the workflow")
  serviceOptions(command)
    .addHelpText(
      "after",
      `\nExample:\n  wire release ${name} tickets/triage --url https://wire.example.com\n\n${exits}`,
    )
    .action((workflow: string, flags: ServiceFlags) =>
      callService(flags, async (call) => {
        const answer = await ask(call, workflow)
        call.table(answer, ["", "CURRENT", "CANDIDATE"], rowsOf(answer), "")
        call.note(`${answer.state}: share ${percent(answer.share)}`)
        for (const { message } of answer.issues) call.note(message)
      }),
    )
}

function rowsOf({ current, candidate }: ReleaseAnswer): (string | null)[][] {
  const shown = (value: number | null): string => (value === null ? "-" : String(value))
  return [
    ["runs", shown(current.runs), shown(candidate.runs)],
    ["failed", percent(current.failed), percent(candidate.failed)],
    ["cost", shown(current.cost), shown(candidate.cost)],
    ["seconds", shown(current.seconds), shown(candidate.seconds)],
    ["tokens", shown(current.tokens), shown(candidate.tokens)],
  ]
}

function percent(part: number | null): string {
  return part === null ? "-" : `${Number((part * 100).toFixed(1))} %`
}

function promote(name: string, folder: string): void {
  const why = whyNotName(name)
  if (why !== null) throw new WrongValue(`${name} is not the name of a workflow: ${why}.`)
  const [from, to] = [join(folder, `${name}.next.wire`), join(folder, `${name}.wire`)]
  if (!existsSync(from)) throw new CommandFailure(`There is no candidate ${from}.`)
  const { text, problem } = readSource(from)
  if (text === null) throw new CommandFailure(`${from} ${problem ?? "cannot be read"}.`)
  const promoted = withoutRelease(text)
  const compiled = compileFile(to, promoted, folder)
  const { errors } = diagnosisOf(promoted, compiled.diagnostics)
  const first = compiled.diagnostics.find(isError)
  if (first !== undefined) {
    throw new CommandFailure(
      `${from} has ${errors === 1 ? "an error" : `${errors} errors`}: ${first.message}. Nothing was moved.`,
    )
  }
  try {
    if (promoted === text) renameSync(from, to)
    else {
      const scratch = writeScratch(to, promoted, 0o644)
      renameSync(scratch, to)
      rmSync(from)
    }
  } catch (error) {
    throw new CommandFailure(`${to} ${whyUnwritable(error) ?? "cannot be written"}.`)
  }
  const { source, modules = {}, file = "" } = compiled.text
  const paths = [file, ...Object.keys(modules)].sort()
  const version = versionOf(paths.map((path) => (path === file ? source : (modules[path] ?? ""))))
  standardOutput.print(`${to} is version ${version} now; ${from} is gone.`)
}
