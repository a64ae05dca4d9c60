import { renameSync } from "node:fs"
import { totalTokens } from "../../log/usage.ts"
import type { Command } from "commander"
import type { ListedRunAnswer, RunAnswer, RunsRequest, RunStatsRequest, StreamEvent } from "../../client/client.ts"
import { startedByWords } from "../../api/run-filters.ts"
import { releases } from "../../log/release.ts"
import { statsUnitNames } from "../../api/run-stats.ts"
import { runStatuses } from "../../api/execute.ts"
import { errorKinds } from "../../check/error-kinds.ts"
import { parseDuration } from "../../base/parse-duration.ts"
import { parseTime } from "../../base/parse-time.ts"
import { visibleJson } from "../../base/visible-text.ts"
import { isTerminal } from "../../log/events.ts"
import { seconds } from "../terminal/run-progress.ts"
import type { Palette } from "../terminal/terminal.ts"
import { CommandFailure, WrongValue } from "../terminal/command-failure.ts"
import { whyUnwritable } from "./file-errors.ts"
import { parseObject, readText } from "./given-values.ts"
import { callService, serviceOptions, type ServiceCall, type ServiceFlags } from "./service-call.ts"
import { writeScratch } from "./write-scratch.ts"

const several = (value: string, before: readonly string[] = []): string[] => [...before, value]

interface ListFlags extends SearchFlags {
  readonly limit?: string
  readonly after?: string
}

interface RerunFlags extends ServiceFlags {
  readonly from?: readonly string[]
  readonly given?: string
  readonly input?: string
  readonly secretsFile?: string
  readonly sameVersion?: true
  readonly current?: true
  readonly follow?: true
}

export function runsCommand(runs: Command): void {
  runs.description("Lists the runs of a running service, newest first. With an operator's key: those of all callers.")
  searchOptions(serviceOptions(runs))
    .option("--limit <n>", "how many, 1 to 500; 50 unless given")
    .option("--after <cursor>", "goes on where another page ended")
    .addHelpText(
      "after",
      `
Examples:
  wire runs --status failed --since 1h
  wire runs --q "acme invoice" --min-cost 0.5
  wire runs --url https://wire.example.com --json | jq -r '.runs[].run_id'
  wire runs stats --since 24h
  wire runs retry --status failed --since 1h --dry-run
  wire runs export --score helpful:bad --out bad.jsonl
  wire runs events 4f2a… --follow
  wire runs delete 4f2a…

Exit code: 0 when all is well, 1 when the service refuses or cannot be reached, 2 for a wrong command line.`,
    )
    .action((_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ListFlags>()
      return callService(flags, (call) => list(call, flags))
    })
  addOne(runs, "show", "print the record of a run", async (call, run_id) => {
    const record = await call.client.run(run_id)
    call.print(record, (palette) => recordLines(record, palette))
  })
  addEvents(runs)
  addEach(runs, "cancel", "stop runs", async (call, run_id) => {
    const answer = await call.client.cancel(run_id)
    call.print(answer, () => [`${answer.run_id}: ${answer.status}`])
  })
  addEach(
    runs,
    "delete",
    "delete runs that have ended, with everything that is stored of them",
    async (call, run_id) => {
      await call.client.delete(run_id)
      call.print({ run_id, deleted: true }, () => [`${run_id}: deleted`])
    },
  )
  addRerun(runs)
  addStats(runs)
  addExport(runs)
  addRetry(runs)
}

const qHelp = "only runs with all of these words in their id, workflow, input, output or error, as the list shows them"

/** The filters that list, counts and actions share. */
function filterOptions(command: Command): Command {
  return command
    .option("--status <status>", `one of ${[...runStatuses, "open", "ended"].join(", ")}`)
    .option("--since <time>", "only runs that were made since: 2026-11-16T22:15:00Z, or how long ago, such as 1h")
    .option("--error-kind <kind>", "only runs that failed with an error of this kind, such as provider_error")
    .option("--workflow <name>", "only runs of the workflow with this name; may be repeated", several)
    .option("--version <version>", "only runs of this version of a workflow")
    .option("--release <side>", `only runs of this side of a release: ${releases.join(", ")}`)
    .option("--started-by <what>", `one of ${startedByWords.join(", ")}`)
    .option("--min-cost <cost>", "only runs that cost at least this")
    .option("--min-seconds <seconds>", "only runs that have ended and took at least this long")
    .option("--until <time>", "only runs that were made before: a time, or how long ago")
    .option("--caller <name>", "only runs of this caller; for operators")
}

/** The filters that list and actions share. */
function searchOptions(command: Command): Command {
  return filterOptions(command)
    .option("--q <words>", qHelp)
    .option("--score <score>", "only runs with this score: its name and its value, such as helpful:bad")
}

interface SearchFlags extends FilterFlags {
  readonly q?: string
  readonly score?: string
}

interface FilterFlags extends ServiceFlags {
  readonly status?: string
  readonly since?: string
  readonly errorKind?: string
  readonly workflow?: readonly string[]
  readonly version?: string
  readonly release?: string
  readonly startedBy?: string
  readonly minCost?: string
  readonly minSeconds?: string
  readonly until?: string
  readonly caller?: string
}

function filtersOf(flags: FilterFlags): Omit<RunStatsRequest, "by" | "since" | "until"> & {
  readonly since?: string
  readonly until?: string
} {
  const { workflow, version, release, caller, startedBy, minCost, minSeconds, status, errorKind, since, until } = flags
  return {
    ...(status !== undefined && { status: oneOf("--status", status, [...runStatuses, "open", "ended"]) }),
    ...(errorKind !== undefined && { error_kind: oneOf("--error-kind", errorKind, errorKinds) }),
    ...(since !== undefined && { since: readSince(since, "--since").toISOString() }),
    ...(until !== undefined && { until: readSince(until, "--until").toISOString() }),
    ...(version !== undefined && { version }),
    ...(release !== undefined && { release: oneOf("--release", release, releases) }),
    ...(caller !== undefined && { caller }),
    ...(startedBy !== undefined && { started_by: oneOf("--started-by", startedBy, startedByWords) }),
    ...(minCost !== undefined && { min_cost: readAmount("--min-cost", minCost) }),
    ...(minSeconds !== undefined && { min_seconds: readAmount("--min-seconds", minSeconds) }),
    ...(workflow !== undefined && { workflow }),
  }
}

function searchOf(flags: SearchFlags): ReturnType<typeof filtersOf> & Pick<RunsRequest, "q" | "score"> {
  const { q, score } = flags
  return { ...filtersOf(flags), ...(q !== undefined && { q }), ...(score !== undefined && { score }) }
}

function addOne(
  runs: Command,
  name: string,
  summary: string,
  work: (call: ServiceCall, run_id: string) => Promise<void>,
): void {
  serviceOptions(
    runs
      .command(name)
      .summary(summary)
      .description(`${sentence(summary)}.`)
      .argument("<run>", "its id"),
  ).action((run_id: string, _: unknown, command: Command) =>
    callService(command.optsWithGlobals<ServiceFlags>(), (call) => work(call, run_id)),
  )
}

function addEach(
  runs: Command,
  name: string,
  summary: string,
  work: (call: ServiceCall, run_id: string) => Promise<void>,
): void {
  const command = runs
    .command(name)
    .summary(summary)
    .description(`${sentence(summary)}. Stops at the first that is refused.`)
  serviceOptions(command.argument("<run...>", "their ids")).action(
    (ids: readonly string[], _: unknown, self: Command) =>
      callService(self.optsWithGlobals<ServiceFlags>(), async (call) => {
        for (const run_id of ids) await work(call, run_id)
      }),
  )
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

async function list(call: ServiceCall, flags: ListFlags): Promise<void> {
  const { limit, after } = flags
  const page = await call.client.runs({
    ...searchOf(flags),
    ...(limit !== undefined && { limit: readLimit(limit) }),
    ...(after !== undefined && { after }),
  } satisfies RunsRequest)
  const heads = ["RUN", "STATUS", "CALLER", "WORKFLOW", "MADE", "TOOK", "TOKENS", "COST"]
  call.table(
    page,
    heads,
    page.runs.map(rowOf),
    page.searched_back_to === null ? "There are no such runs." : "None so far.",
  )
  if (page.searched_back_to !== null) {
    call.note(`The search has looked back to ${page.searched_back_to}. It goes on with --after ${page.next}`)
  } else if (page.next !== null) call.note(`There are more: --after ${page.next}`)
}

function rowOf(run: ListedRunAnswer): (string | null)[] {
  const { run_id, status, error_kind, caller, workflow, created_at, finished_at, usage } = run
  const tokens = totalTokens(usage)
  return [
    run_id,
    error_kind === undefined ? status : `${status} (${error_kind})`,
    caller ?? null,
    workflow,
    created_at.replace("T", " ").replace(/\.\d+Z$/, "Z"),
    finished_at === null ? null : seconds(Date.parse(finished_at) - Date.parse(created_at)),
    tokens === 0 ? null : String(tokens),
    usage.cost === null || usage.cost === 0 ? null : String(usage.cost),
  ]
}

function recordLines(run: RunAnswer, palette: Palette): string[] {
  const facts: [string, string | null][] = [
    ["run", run.run_id],
    ["status", run.status],
    ["caller", run.caller ?? null],
    ["workflow", run.workflow === null ? null : `${run.workflow} (version ${run.version})`],
    ["made", run.created_at],
    ["ended", run.finished_at],
    ["took", run.finished_at === null ? null : seconds(Date.parse(run.finished_at) - Date.parse(run.created_at))],
    ["tokens", `${run.usage.input_tokens} in, ${run.usage.output_tokens} out`],
    ["cost", run.usage.cost === null ? null : String(run.usage.cost)],
    ["events", String(run.last_event_id)],
    ["rerun of", run.rerun_of],
    ["trace", run.trace_url ?? run.trace_id],
    ["error", run.error === null ? null : `${run.error.kind}: ${run.error.message}`],
  ]
  const lines = facts.flatMap(([name, value]) => (value === null ? [] : [`${palette.faint(name.padEnd(10))}${value}`]))
  return run.output === null ? lines : [...lines, palette.faint("output"), ...visibleJson(run.output, 2).split("\n")]
}

// ---------------------------------------------------------------------------------------------------------------- events

function addEvents(runs: Command): void {
  const command = runs
    .command("events")
    .summary("print the events of a run")
    .description("Prints the events of a run, one a line: those that there are, or with --follow until the run ends.")
    .argument("<run>", "its id")
    .option("-f, --follow", "go on with the events to come, until the run ends")
  serviceOptions(command).action((run_id: string, _: unknown, self: Command) => {
    const flags = self.optsWithGlobals<ServiceFlags & { readonly follow?: true }>()
    return callService(flags, async (call) => {
      // Without --follow, a run that goes on is read up to where it is now.
      const last = flags.follow === true ? Infinity : (await call.client.run(run_id)).last_event_id
      if (last === 0) return
      for await (const event of call.client.follow(run_id)) {
        printEvent(call, event)
        if (event.id >= last) return
      }
    })
  })
}

function printEvent(call: ServiceCall, event: StreamEvent): void {
  call.print(event, (palette) => {
    const time = (event.data.at ?? "").slice(11, 23)
    const about = aboutEvent(event.data)
    const type = event.type.padEnd(22)
    return [`${palette.faint(`${String(event.id).padStart(5)} ${time.padEnd(12)}`)} ${type} ${about}`.trimEnd()]
  })
}

/** What an event is about, from the fields that name it. */
function aboutEvent(data: Readonly<Record<string, unknown>>): string {
  const name = [data["step"], data["agent"], data["dynamic"], data["name"], data["tool"], data["server"]].find(
    (one) => typeof one === "string",
  )
  const iteration = typeof data["iteration"] === "number" ? `[${data["iteration"]}]` : ""
  const error = data["error"] as { readonly kind?: string; readonly message?: string } | undefined
  const took = typeof data["duration_ms"] === "number" ? seconds(data["duration_ms"]) : ""
  const why = error?.kind === undefined ? "" : `${error.kind}: ${error.message ?? ""}`
  return [typeof name === "string" ? `${name}${iteration}` : "", took, why].filter((part) => part !== "").join("  ")
}

// ----------------------------------------------------------------------------------------------------------------- rerun

function addRerun(runs: Command): void {
  const command = runs
    .command("rerun")
    .summary("run again, taking over the results of steps that did not change")
    .description(
      "Starts a new run that takes over from an earlier one what did not change. Secrets that the earlier request sent must be given again.",
    )
    .argument("<run>", "id of the earlier run")
    .option("--from <step>", "a step that always runs, such as agent.write; may be repeated", several)
    .option("--given <file>", 'results of steps, as a JSON file: { "agent.sort": { … } }')
    .option("-i, --input <file>", "another input, as a JSON file")
    .option("--secrets-file <file>", "secrets as a JSON file")
    .option("--same-version", "only if the service still serves the same version of the workflow")
    .option("--current", "the workflow of that name as the service serves it now")
    .option("-f, --follow", "print the events until the run ends")
  serviceOptions(command).action((run_id: string, _: unknown, self: Command) => {
    const flags = self.optsWithGlobals<RerunFlags>()
    return callService(flags, (call) => rerun(call, run_id, flags))
  })
}

async function rerun(call: ServiceCall, earlier: string, flags: RerunFlags): Promise<void> {
  const { from, given, input, secretsFile, sameVersion, current, follow } = flags
  if (sameVersion === true && current === true) throw new WrongValue("Give --current or --same-version, not both.")
  const body = {
    ...(from !== undefined && { from }),
    ...(given !== undefined && { given: parseObject(readText(given), given) }),
    ...(input !== undefined && { input: parseObject(readText(input), input) }),
    ...(secretsFile !== undefined && { secrets: parseObject(readText(secretsFile), secretsFile) }),
    ...(sameVersion === true && { same_version: true }),
    ...(current === true && { version: "current" as const }),
  }
  let run_id = ""
  for await (const event of call.client.rerun(earlier, body, { onRun: (id) => (run_id = id) })) {
    // Leaving the stream does not stop the run.
    if (follow !== true) break
    printEvent(call, event)
    if (isTerminal(event.type) && event.type !== "workflow_completed") process.exitCode = 1
  }
  if (follow !== true) call.print({ run_id }, () => [`${run_id}: started`])
}

// ----------------------------------------------------------------------------------------------------- counts and actions

function addStats(runs: Command): void {
  const command = runs
    .command("stats")
    .summary("count runs by hour or day")
    .description(
      "Counts runs by the hour or day of their creation: how many, how many failed, how long they took, what they used. Those that were deleted count for 400 days.",
    )
    .option("--by <unit>", `${statsUnitNames.join(" or ")}; hour unless given`)
  filterOptions(serviceOptions(command)).action((_: unknown, self: Command) => {
    const flags = self.optsWithGlobals<FilterFlags & { readonly by?: string }>()
    return callService(flags, async (call) => {
      const by = flags.by === undefined ? {} : { by: oneOf("--by", flags.by, statsUnitNames) }
      const answer = await call.client.runStats({ ...filtersOf(flags), ...by })
      const heads = [answer.by.toUpperCase(), "RUNS", "FAILED", "WAITING", "P50", "P95", "TOKENS", "COST"]
      const rows = answer.buckets.map(({ at, runs: count, failed, waiting, p50_ms, p95_ms, tokens, cost }) => [
        at.slice(0, answer.by === "day" ? 10 : 16).replace("T", " "),
        ...[count, failed, waiting].map((one) => (one === 0 ? null : String(one))),
        ...[p50_ms, p95_ms].map((ms) => (ms === null ? null : seconds(ms))),
        ...[tokens, cost].map((one) => (one === 0 ? null : String(one))),
      ])
      call.table(answer, heads, rows, "There are no such runs.")
    })
  })
}

interface ExportFlags extends SearchFlags {
  readonly out: string
  readonly limit?: string
}

function addExport(runs: Command): void {
  const command = runs
    .command("export")
    .summary("write inputs, outputs and scores of runs to a file")
    .description(
      "Writes a line of JSON for each completed run that the filters find, newest first: its id, workflow, input, output and scores, for tables of tests.",
    )
    .requiredOption("--out <file>", "the file to write, such as bad.jsonl")
    .option("--limit <n>", "how many, 1 to 500; 500 unless given")
  searchOptions(serviceOptions(command))
    .addHelpText("after", "\nExample:\n  wire runs export --score helpful:bad --since 7d --out bad.jsonl")
    .action((_: unknown, self: Command) => {
      const flags = self.optsWithGlobals<ExportFlags>()
      return callService(flags, (call) => exportRuns(call, flags))
    })
}

async function exportRuns(call: ServiceCall, flags: ExportFlags): Promise<void> {
  const { client } = call
  const limit = flags.limit === undefined ? 500 : readLimit(flags.limit)
  const { runs } = await client.runs({ status: "completed", ...searchOf(flags), limit })
  const lines: string[] = []
  for (const { run_id } of runs) {
    const { workflow, output, scores, redacted_at } = await client.run(run_id)
    // Its values were private, and are gone.
    if (redacted_at !== undefined) continue
    const { input } = await client.runRequest(run_id)
    lines.push(`${JSON.stringify({ run_id, workflow, input, output, scores })}\n`)
  }
  try {
    renameSync(writeScratch(flags.out, lines.join(""), 0o600), flags.out)
  } catch (error) {
    throw new CommandFailure(`${flags.out} ${whyUnwritable(error) ?? "cannot be written"}.`)
  }
  call.print({ file: flags.out, runs: lines.length }, () => [
    `Wrote ${lines.length} ${lines.length === 1 ? "run" : "runs"} to ${flags.out}.`,
  ])
}

const pollMs = 500

function addRetry(runs: Command): void {
  const command = runs
    .command("retry")
    .summary("run again what failed")
    .description(
      "Starts a re-run of each run that failed or was cancelled and that the filters find, with the secrets of the server. Exit code 1 where one was not started.",
    )
    .option("--dry-run", "say how many they are, and start nothing")
  searchOptions(serviceOptions(command)).action((_: unknown, self: Command) => {
    const flags = self.optsWithGlobals<SearchFlags & { readonly dryRun?: true }>()
    return callService(flags, (call) => retry(call, flags))
  })
}

async function retry(call: ServiceCall, flags: SearchFlags & { readonly dryRun?: true }): Promise<void> {
  const filter = searchOf(flags)
  if (Object.keys(filter).length === 0) throw new WrongValue("Give a filter, such as --status failed.")
  const dry_run = flags.dryRun === true
  const { id } = await call.client.startRunsAction({ action: "retry_failed", filter, dry_run })
  let state = await call.client.runsAction(id)
  while (state.status === "running") {
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    state = await call.client.runsAction(id)
  }
  const { matched, failed } = state
  call.print({ id, dry_run, ...state }, () => [
    dry_run
      ? `${matched - failed.length} of ${matched} runs would be started again.`
      : `${state.done} of ${matched} runs were started again.`,
    ...failed.map(({ run_id, message }) => `${run_id}: ${message}`),
  ])
  if (!dry_run && failed.length > 0) process.exitCode = 1
}

// ----------------------------------------------------------------------------------------------------------------- flags

function oneOf<const Word extends string>(flag: string, given: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === given)
  if (word === undefined) throw new WrongValue(`${flag} must be one of ${words.join(", ")}.`)
  return word
}

function readLimit(text: string): number {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 500) throw new WrongValue("--limit must be a number from 1 to 500.")
  return limit
}

function readAmount(name: string, text: string): number {
  if (!/^\d{1,15}(?:\.\d{1,15})?$/.test(text)) throw new WrongValue(`${name} must be a number, 0 or more.`)
  return Number(text)
}

/** A time, or how long ago. */
function readSince(text: string, name: string): Date {
  const ago = parseDuration(text)
  const time = ago === undefined ? parseTime(text) : Date.now() - ago
  if (time === undefined)
    throw new WrongValue(`${name} must be a time such as 2026-11-16T22:15:00Z, or a duration such as 1h.`)
  return new Date(time)
}
