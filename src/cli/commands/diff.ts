import { statSync } from "node:fs"
import { basename, relative, sep } from "node:path"
import type { Command } from "commander"
import { visibleJson, visibleText } from "../../base/visible-text.ts"
import { Files } from "../../compile.ts"
import { versionOf } from "../../compiler/version-of.ts"
import type { WorkflowDiff } from "../../diff/diff-shape.ts"
import { diffWorkflows } from "../../diff/diff-workflows.ts"
import { diffAreas, diffAsMarkdown, failingAreas, showDiff, type DiffArea } from "../../diff/show-diff.ts"
import type { SourceText } from "../../source/source-files.ts"
import { isError } from "../../source/diagnostic.ts"
import { CommandFailure } from "../terminal/command-failure.ts"
import { standardOutput } from "../terminal/screen.ts"
import { compileWorkflow } from "./compile-workflow.ts"
import { findSources } from "./find-sources.ts"
import { readGitPlace } from "./git-texts.ts"
import { callService, type ServiceCall, type ServiceFlags } from "./service-call.ts"

interface DiffFlags extends ServiceFlags {
  readonly markdown?: true
  readonly failOn?: string
  readonly runs?: string
  readonly workflow?: string
}

export function diffCommand(command: Command): void {
  command
    .description(
      "Says what a change of a workflow means: for its callers, its steps, what it can reach, what it can cost, its exceptions, and its open\n" +
        "questions. Nothing is run. OLD and NEW are files, folders (all workflows by name), or git:REF:path.",
    )
    .argument("<old>", "a file, a folder, or git:REF:path")
    .argument("<new>", "the same for the new version")
    .option("--json", "print JSON")
    .option("--markdown", "print tables for a pull request")
    .option("--fail-on <areas>", `exit with 1 where one of these breaks callers or grew: ${diffAreas.join(",")}`)
    .option(
      "--runs <n>",
      "also say what the last n ended runs of the workflow would run again, on the service of --url",
    )
    .option("--workflow <name>", "the name of the workflow there; that of the file unless given")
    .option("--url <url>", "address of the service (WIRE_URL, default http://127.0.0.1:13703)")
    .option("--key <key>", "key of a caller or an operator (WIRE_KEY)")
    .addHelpText(
      "after",
      `
Examples:
  wire diff git:main:triage.wire triage.wire
  wire diff git:v1.4:flows flows --fail-on contract,trust
  wire diff old.wire new.wire --markdown >> "$GITHUB_STEP_SUMMARY"
  wire diff git:main:triage.wire triage.wire --runs 20 --url https://wire.example.com

Exit code: 0 when all is well, 1 when a workflow is wrong or an area of --fail-on breaks or grew, 2 for a wrong command line.`,
    )
    .action((before: string, after: string, flags: DiffFlags) => printDiff(before, after, flags))
}

/** A workflow of one side. */
interface Version {
  readonly program: Parameters<typeof diffWorkflows>[0]
  readonly version: string
  readonly text: SourceText
}

interface Side {
  readonly isFolder: boolean
  /** By name: what compiles it. It throws a `CommandFailure` for one with errors. */
  readonly workflows: ReadonlyMap<string, () => Version>
}

interface Compared {
  readonly name: string
  readonly from: string | null
  readonly to: string | null
  /** Null for a workflow that is new, or gone. */
  readonly diff: WorkflowDiff | null
  readonly runs?: RunsAgain
}

async function printDiff(before: string, after: string, flags: DiffFlags): Promise<void> {
  const areas = readAreas(flags.failOn)
  const [old, now] = [sideOf(before), sideOf(after)]
  if (old.isFolder !== now.isFolder) throw new CommandFailure("Compare two files, or two folders.", 2)
  const compared = compareSides(old, now)
  const told = flags.runs === undefined ? compared : await withRuns(compared, now, flags)
  if (told === null) return
  print(told, old.isFolder, flags)
  const failing = told.flatMap(({ name, to, diff }) => {
    const found =
      diff === null ? (to === null && areas.includes("contract") ? ["contract"] : []) : failingAreas(diff, areas)
    return found.map((area) => (area === "contract" ? `the contract of ${name} breaks` : `the ${area} of ${name} grew`))
  })
  if (failing.length > 0) throw new CommandFailure(visibleText(`Refused by --fail-on: ${failing.join(", ")}.`))
}

function print(compared: readonly Compared[], isFolder: boolean, { json, markdown }: DiffFlags): void {
  if (json === true) {
    const values = compared.map(({ diff, ...rest }) => ({ ...rest, ...diff }))
    return standardOutput.print(visibleJson(isFolder ? { workflows: values } : (values[0] ?? {}), 2))
  }
  const blocks = compared.flatMap((one) => {
    const { name, from, to, diff, runs } = one
    const head = `${name}  ${from ?? "(new)"} → ${to ?? "(removed)"}`
    if (diff === null) return [markdown === true ? `**${head}**` : head]
    const text = markdown === true ? diffAsMarkdown(head, diff) : showDiff(head, diff)
    if (isFolder && text === "No difference.") return []
    const again =
      runs === undefined ? [] : [markdown === true ? `\n${runsText(runs)}` : `  ${"runs".padEnd(11)}${runsText(runs)}`]
    return [[text, ...again].join("\n")]
  })
  const text = blocks.length === 0 ? "No difference." : blocks.join("\n\n")
  standardOutput.print(text.split("\n").map(visibleText).join("\n"))
}

function readAreas(given: string | undefined): DiffArea[] {
  const words = given === undefined ? [] : given.split(",").map((word) => word.trim())
  return words.map((word) => {
    const area = diffAreas.find((one) => one === word)
    if (area === undefined) throw new CommandFailure(`--fail-on takes ${diffAreas.join(", ")}, not \`${word}\`.`, 2)
    return area
  })
}

function compareSides(old: Side, now: Side): Compared[] {
  if (!old.isFolder) {
    const [[, before] = []] = old.workflows
    const [[name = "", after] = []] = now.workflows
    return before === undefined || after === undefined ? [] : [compare(name, before(), after())]
  }
  const names = [...new Set([...old.workflows.keys(), ...now.workflows.keys()])].sort()
  return names.flatMap((name): Compared[] => {
    const [before, after] = [old, now].map(({ workflows }) => workflows.get(name)?.())
    // A file of declarations alone is no workflow: those that import it differ.
    if ((before === undefined || isLibrary(before)) && (after === undefined || isLibrary(after))) return []
    if (before !== undefined && after !== undefined) return [compare(name, before, after)]
    return [{ name, from: before?.version ?? null, to: after?.version ?? null, diff: null }]
  })
}

function compare(name: string, before: Version, after: Version): Compared {
  return { name, from: before.version, to: after.version, diff: diffWorkflows(before.program, after.program) }
}

function isLibrary({ program }: Version): boolean {
  return program.output === undefined && program.agents.size + program.asks.size + program.dynamics.size === 0
}

function sideOf(argument: string): Side {
  if (argument.startsWith("git:")) return gitSide(argument)
  const isFolder = statSync(argument, { throwIfNoEntry: false })?.isDirectory() === true
  if (!isFolder) return { isFolder, workflows: new Map([[basename(argument), () => onDisk(argument)]]) }
  const { files, misses, unreadable } = findSources([argument])
  const [problem] = [...misses, ...unreadable.map((one) => `${one.folder} ${one.problem}`)]
  if (problem !== undefined) throw new CommandFailure(visibleText(problem))
  const served = files.map(({ file }) => file).filter((file) => isServed(nameIn(argument, file)))
  return { isFolder, workflows: new Map(served.map((file) => [nameIn(argument, file), () => onDisk(file)])) }
}

function nameIn(folder: string, file: string): string {
  return relative(folder, file)
    .split(sep)
    .join("/")
    .replace(/\.wire$/, "")
}

function isServed(name: string): boolean {
  return !name.endsWith(".test") && !name.split("/").some((part) => /^[_.]/.test(part))
}

function onDisk(file: string): Version {
  const { program, text } = compileWorkflow(file)
  const { source, modules = {}, file: path = file } = text
  return { program, text, version: version({ [path]: source, ...modules }) }
}

function gitSide(argument: string): Side {
  const { texts, files, isFolder, folder } = readGitPlace(argument)
  const load = (file: string): Version => {
    const source = texts.read(file)
    if (source === undefined) throw new CommandFailure(`${argument}: ${file} is not UTF-8, or too large`)
    const all = new Files(texts, versionOf)
    const { program, diagnostics } = all.compile(source, file)
    const error = diagnostics.find(isError)
    if (error !== undefined) {
      throw new CommandFailure(
        visibleText(`${argument}: ${file} has errors: ${error.message}. Only valid workflows are compared.`),
      )
    }
    const needed = Object.fromEntries(all.needed(file))
    const { [file]: _, ...modules } = needed
    const text = Object.keys(modules).length === 0 ? { source } : { source, file, modules }
    return { program, text, version: version(needed) }
  }
  if (!isFolder) return { isFolder, workflows: new Map(files.map((file) => [basename(file), () => load(file)])) }
  const named = files.map((file) => [file.slice(folder.length).replace(/\.wire$/, ""), () => load(file)] as const)
  return { isFolder, workflows: new Map(named.filter(([name]) => isServed(name))) }
}

/** Of the texts of all files, in the order of their paths. */
function version(texts: Readonly<Record<string, string>>): string {
  return versionOf(
    Object.keys(texts)
      .sort()
      .map((path) => texts[path] ?? ""),
  )
}

// ---------------------------------------------------------------------------------------------------------------- runs

/** What ended runs would do again under the new version. */
interface RunsAgain {
  readonly looked_at: number
  readonly reuse_everything: number
  /** Steps that would run again, with the number of runs. */
  readonly again: Readonly<Record<string, number>>
}

function runsText({ looked_at, reuse_everything, again }: RunsAgain): string {
  const steps = Object.entries(again).map(([step, runs]) => `${step} (${runs})`)
  const others = steps.length === 0 ? "" : `; the others would run again: ${steps.join(", ")}`
  return `${reuse_everything} of the last ${looked_at} would reuse everything${others}`
}

/** Null where the service refuses. */
async function withRuns(compared: readonly Compared[], now: Side, flags: DiffFlags): Promise<Compared[] | null> {
  const wanted = Number(flags.runs)
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > 500)
    throw new CommandFailure("--runs takes a number from 1 to 500.", 2)
  let told: Compared[] | null = null
  await callService(flags, async (call) => {
    const all: Compared[] = []
    for (const one of compared) {
      const load = now.workflows.get(one.name)
      const name = flags.workflow ?? one.name.replace(/\.wire$/, "")
      if (one.diff === null || load === undefined) all.push(one)
      else all.push({ ...one, runs: await runsAgain(call, name, load().text, wanted) })
    }
    told = all
  })
  return told
}

async function runsAgain(call: ServiceCall, workflow: string, text: SourceText, limit: number): Promise<RunsAgain> {
  const { runs } = await call.client.runs({ workflow, status: "ended", limit })
  const again: Record<string, number> = {}
  let reuse_everything = 0
  const { source, ...files } = text
  for (const { run_id } of runs) {
    const { plan } = await call.client.validate({
      workflow_source: source,
      file: files.file ?? null,
      modules: files.modules ?? null,
      rerun_of: run_id,
    })
    const steps = (plan?.nodes ?? []).filter(({ id, rerun }) => id !== "output" && rerun?.status !== "same")
    if (steps.length === 0) reuse_everything++
    for (const { id } of steps) again[id] = (again[id] ?? 0) + 1
  }
  return { looked_at: runs.length, reuse_everything, again }
}
