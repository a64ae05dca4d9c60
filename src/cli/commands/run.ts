import { onOutputError, standardError, standardOutput, typedAt } from "../terminal/screen.ts"
import { existsSync } from "node:fs"
import type { Command } from "commander"
import { parseDuration } from "../../base/parse-duration.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { SourceText } from "../../source/source-files.ts"
import { placeholderSecrets } from "../../testing/placeholder-secrets.ts"
import { remedies, showMiss } from "../../testing/show-miss.ts"
import { hasBatches, mayWait } from "../../plan/may-wait.ts"
import { limitKeys } from "../../syntax/property-table.ts"
import type { Limits, Plan } from "../../plan/plan-shape.ts"
import type { EventData, LogEvent, WireError } from "../../log/events.ts"
import { validateRequest } from "../../run/validate-request.ts"
import type { RunOptions } from "../../ports/store.ts"
import { initialState, type RunState } from "../../log/run-state.ts"
import { reduce } from "../../log/reduce.ts"
import { Answering } from "./answer-questions.ts"
import { GivenEvents, type EventFlags, type EventPorts } from "./give-events.ts"
import { GivenAnswers, type AnswerFlags } from "./given-answers.ts"
import { TerminalLines } from "../terminal/terminal-lines.ts"
import { readStdin, stdinName } from "./read-stdin.ts"
import { eventLine, isFailedItem, LiveLines, progressLines, seconds, tokensText } from "../terminal/run-progress.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { readValues, readInputStream, type ValueFlags, type Values } from "./given-values.ts"
import { openOutFolder, writeResultFiles, type WrittenResult } from "./result-files.ts"
import { readRecordingFile, writeExchanges, WrongRecording } from "./recording-file.ts"
import { stopSignal } from "../terminal/stop-signal.ts"
import { paletteFor } from "../terminal/terminal.ts"
import { visibleJson, visibleText } from "../../base/visible-text.ts"
import { complain, reportBug } from "../terminal/complain.ts"
import type { Settings } from "../compose/settings.ts"
import { usableSettings } from "./usable-settings.ts"
import { compileToRun } from "./compile-workflow.ts"

interface RunFlags extends ValueFlags, AnswerFlags, EventFlags {
  readonly events?: true
  readonly deltas?: true
  readonly quiet?: true
  readonly out?: string
  readonly record?: string
  readonly replay?: string
  readonly maxConcurrency?: string
  readonly timeout?: string
  readonly limit?: readonly string[]
}

const several = (value: string, before: readonly string[] = []): string[] => [...before, value]

export function runCommand(command: Command): void {
  command
    .description(
      "Runs one workflow in this process, without a service, and prints its result as JSON.\n" +
        "Progress is shown on standard error. Ctrl+C cancels the run, a second one quits at once.\n" +
        "Questions to people (ask, approval) are asked in the terminal, unless --answer, --answers or --approve answers them.",
    )
    .argument("<file>", "the workflow; - reads it from standard input")
    .option("-i, --input <file>", "input as a JSON file, as JSON itself, or - for standard input")
    .option(
      "-s, --set <field=value>",
      "one field of the input (a.b=1, files[0].path=x, @FILE for what a file holds, or for the file itself in a field of that type; @@ for a literal @); may be repeated",
      several,
    )
    .option("--secrets-file <file>", "secrets as a JSON file")
    .option("--secret <name=env:VARIABLE>", "one secret from a variable, or name=file:PATH; may be repeated", several)
    .option("--answer <field=value>", "one field of an answer (review.publish=true); may be repeated", several)
    .option("--answers <file>", "answers as a JSON file, by the names of the questions")
    .option("--approve <tool>", "approve every call of this tool; may be repeated", several)
    .option("--event <wait=json>", "the data of the event that a wait is for (paid='{…}'); may be repeated", several)
    .option("--skip-waits", "do not wait for times")
    .option("--out <folder>", "write the files of the result there; nothing is overwritten")
    .option("--events", "print every event as a line of JSON instead of the result")
    .option("--deltas", "with --events: also the pieces of answers as they come")
    .option("--max-concurrency <n>", "most model and tool calls at a time")
    .option("--timeout <duration>", "most time for the run, such as 90s or 1h")
    .option("--limit <key=number>", `one limit of the run (${limitKeys.join(", ")}); may be repeated`, several)
    .option(
      "--record <file>",
      "record all calls in a file: calls that are missing there are made, unused ones are dropped",
    )
    .option("--replay <file>", "play all calls from a recording: no connection is opened, no secret needed")
    .option("-q, --quiet", "do not show progress")
    .addHelpText(
      "after",
      `
Examples:
  wire run hello.wire --set name=Ada
  wire run review.wire --set diff=@d.diff
  wire run notice.wire --set contract=@contract.pdf --out reports
  wire run review.wire --input pr.json --secret api_key=env:OPENAI_API_KEY
  wire run review.wire -i pr.json --events | jq -c .event
  wire run publish.wire --answer review.publish=true --approve send_mail
  wire run order.wire --set order=A-17 --event paid='{"status":"settled","amount":5}' --skip-waits
  wire run review.wire -i pr.json --limit cost=0.50 --limit model_calls=40

Exit code: 0 when the run completes, 1 when it fails or the workflow is wrong, 2 for a wrong command line or values that do
not fit, 3 for a bug of ours, 4 when a person would have to answer, or an event to come, and there is no terminal, 130 when it was cancelled.`,
    )
    .action(async (file: string, flags: RunFlags) => {
      process.exitCode = await runFile(file, flags)
    })
}

async function runFile(file: string, flags: RunFlags): Promise<number> {
  const isStdin = file === "-"
  const { plan, text } = isStdin
    ? await compileToRun(stdinName, "Not run", await readStdin())
    : await compileToRun(file, "Not run")
  if (isStdin && flags.input === "-") throw new WrongValue("Workflow and input cannot both be standard input.")
  const settings = usableSettings({}, { ...process.env, WIRE_STORE: "memory" })
  const stdin = (): Promise<string> => readInputStream(process.stdin)
  let values = await readValues(plan, flags, process.env, stdin, settings.maxFile)
  if (flags.record !== undefined && flags.replay !== undefined) {
    throw new WrongValue("Give --record or --replay, not both.")
  }
  if (flags.replay !== undefined) {
    values = { ...values, secrets: { ...placeholderSecrets(plan.secrets, plan.types), ...values.secrets } }
  }
  const options = readOptions(flags)
  const answers = new GivenAnswers(plan, flags)
  const events = new GivenEvents(plan, flags)
  if (flags.out !== undefined) openOutFolder(flags.out)
  const { openPrices } = await import("../compose/price-file.ts")
  const { prices } = openPrices(settings)
  const misfit = validateRequest(plan, values.input, values.secrets, options.limits, prices)
  if (misfit !== null) {
    return refused(misfit)
  }
  return execute(settings, text, plan, values, options, { answers, events }, flags)
}

function refused(error: WireError): number {
  complain(showError(error))
  complain(`See --set, --input, --secret, --secrets-file and --limit in: wire help run`)
  return 2
}

function readOptions(flags: RunFlags): RunOptions {
  const { maxConcurrency, timeout } = flags
  if (maxConcurrency !== undefined && !/^[1-9]\d{0,5}$/.test(maxConcurrency)) {
    throw new WrongValue(`--max-concurrency is "${maxConcurrency}": it must be a whole number from 1.`)
  }
  const timeout_ms = timeout === undefined ? null : parseDuration(timeout)
  if (timeout_ms === undefined || timeout_ms === 0) {
    throw new WrongValue(`--timeout is "${timeout}": it must be a duration such as 500ms, 30s, 15m or 1h.`)
  }
  const limits = readLimits(flags.limit ?? [])
  return {
    cache_key: null,
    use_cache: false,
    max_concurrency: maxConcurrency === undefined ? null : Number(maxConcurrency),
    timeout_ms,
    deltas: flags.deltas === true,
    ...(limits === null ? {} : { limits }),
  }
}

/** `tokens=20000`, once for each key. */
function readLimits(texts: readonly string[]): Limits | null {
  const limits: { -readonly [Key in keyof Limits]: number } = {}
  for (const text of texts) {
    const [name = "", value = ""] = text.split(/=(.*)/s)
    const key = limitKeys.find((known) => known === name)
    if (key === undefined) throw new WrongValue(`--limit ${text}: it must be one of ${limitKeys.join(", ")}.`)
    const most = Number(value.replaceAll("_", ""))
    if (value === "" || !Number.isFinite(most) || most <= 0) {
      throw new WrongValue(
        `--limit ${text}: it must be a number above 0, such as ${key}=${key === "cost" ? "0.50" : 100}.`,
      )
    }
    limits[key] = most
  }
  return texts.length === 0 ? null : limits
}

async function execute(
  settings: Settings,
  text: SourceText,
  plan: Plan,
  values: Values,
  options: RunOptions,
  { answers, events }: { readonly answers: GivenAnswers; readonly events: GivenEvents },
  flags: RunFlags,
): Promise<number> {
  // Loaded now: `wire help` and wrong command lines do not need it.
  const { composeRuns, openRecording, readRecording, writeRecording } = await import("../compose/compose-runs.ts")
  const { answerQuestion } = await import("../../run/questions/answer-question.ts")
  const mode = flags.record === undefined ? "play" : "record"
  const file = flags.record ?? flags.replay
  let recorded: ReturnType<typeof openRecording> | null = null
  if (file !== undefined) {
    if (mode === "play" && !existsSync(file)) throw new WrongRecording(`${file}: no such file.`)
    recorded = openRecording(mode, readRecordingFile(file, mode, readRecording), values.secrets)
  }
  const { runs, store, files, close } = await composeRuns(settings, [plan], reportBug, 1, recorded)
  const stop = stopSignal()
  try {
    // A run that waits leaves memory; this listens for the answers that wake it.
    if (mayWait(plan) || hasBatches(plan)) await runs.recover()
    const request = { ...text, ...values, options }
    const admission = await runs.admit(plan, { caller: "", request, idempotency: null })
    if (admission.outcome === "refused") return refused(admission.error)
    if (admission.outcome !== "created") throw new Error(`The run was not admitted: ${admission.outcome}`)
    const { run_id } = admission
    const watch = new Watch(flags)
    void stop.asked.then(() => {
      watch.note("Cancelling; press Ctrl+C again to quit at once")
      return runs.cancel(run_id)
    })
    const cancel = (): void => void runs.cancel(run_id).catch(reportBug)
    // The reader of the events may stop early (`wire run --events | head`): then no more models are called.
    const stopListening = onOutputError(cancel)
    const answering = new Answering(answers, {
      answer: async (question, answer) => {
        const answered = { answer, digest: question.digest ?? null, answered_by: { caller: null, by: null } }
        const parts = { store, planOf: () => Promise.resolve({ plan }) }
        const result = await answerQuestion(parts, { ...question, status: "open" }, answered)
        return result.outcome === "misfit" ? result.error.issues.map(({ message }) => message) : []
      },
      giveUp: cancel,
      pause: () => watch.pause(),
      goOn: () => watch.goOn(),
      write: (line) => complain(line),
      lines: isTerminal ? () => new TerminalLines(process.stdin, typedAt.stream, interrupt) : null,
      bug: reportBug,
      palette: paletteFor(standardError),
      columns: standardError.columns,
    })
    const eventPorts: EventPorts = {
      settle: (id: string, kind: "event" | "time", outcome: { readonly data: JsonValue } | null) =>
        kind === "event" && outcome !== null
          ? store.waits.settle(run_id, kind, id, outcome)
          : store.waits.settle(run_id, "time", id, null),
      giveUp: cancel,
      write: (line) => complain(line),
      prompt: isTerminal ? (ask) => answering.inTurn(ask) : null,
      bug: reportBug,
    }
    for await (const event of store.follow(run_id, 0, new AbortController().signal)) {
      watch.event(event)
      answering.event(event)
      events.event(event, eventPorts)
    }
    // The error of the last events' writing is reported later, when the store is closed.
    stopListening()
    events.end()
    const missing = [...(await answering.end()), ...events.missing]
    const { result } = watch
    const written = result === null ? null : await writeResultFiles(plan, result, files, flags.out)
    const code = watch.end(missing.length > 0, written)
    for (const sentence of missing) complain(sentence)
    for (const miss of recorded?.misses ?? []) {
      complain(
        [`${miss.path} asks what is not recorded in ${file}`, ...showMiss(miss, remedies.run)]
          .map(visibleText)
          .join("\n  "),
      )
    }
    if (recorded !== null && mode === "record" && file !== undefined) {
      // A run that failed may not have come to everything that is recorded.
      writeExchanges(file, recorded.recording.exchanges(code === 0 ? "used" : "all"), writeRecording)
    }
    return missing.length > 0 ? 4 : code
  } finally {
    stop.ignore()
    await close()
  }
}

/** A person can read and type here. */
const isTerminal = process.stdin.isTTY && standardError.isTerminal

/** A terminal that reads lines itself gives Ctrl+C to us instead of making a signal of it. */
function interrupt(): void {
  process.kill(process.pid, "SIGINT")
}

/** Follows a run for the person at the terminal. */
class Watch {
  readonly #flags: RunFlags
  readonly #state: RunState = initialState()
  readonly #live: LiveLines | null
  readonly #palette = paletteFor(standardError)
  readonly #timer: NodeJS.Timeout | null
  #last: LogEvent | null = null
  /** Lines that are printed above the live ones when those are drawn next. */
  #above: string[] = []
  #paused = false

  constructor(flags: RunFlags) {
    this.#flags = flags
    // Live lines on standard error and events on the same terminal would overwrite each other.
    const alone = flags.events !== true || !standardOutput.isTerminal
    const live = standardError.isTerminal && alone && process.env["TERM"] !== "dumb" && flags.quiet !== true
    this.#live = live ? new LiveLines(standardError) : null
    this.#timer = live ? setInterval(() => this.#draw(), 100) : null
  }

  event(event: LogEvent): void {
    reduce(this.#state, event)
    this.#last = event
    const { id, type, data } = event
    if (this.#flags.events === true) standardOutput.print(visibleJson({ id, event: type, data }))
    if (this.#flags.quiet === true || (this.#live !== null && !isFailedItem(event))) return
    const line = eventLine(event, this.#state)
    if (line === null) return
    if (this.#live === null) complain(visibleText(line))
    else this.#above.push(visibleText(line))
  }

  note(sentence: string): void {
    this.#live?.clear()
    complain(sentence)
  }

  /** Leaves the terminal to a question. */
  pause(): void {
    this.#live?.clear()
    this.#paused = true
  }

  goOn(): void {
    this.#paused = false
  }

  /** Of a run that has completed. */
  get result(): JsonValue | null {
    return this.#last?.type === "workflow_completed" ? this.#last.data.output.result : null
  }

  /** `gaveUp`: the run was cancelled because nobody can answer, which is said elsewhere. */
  end(gaveUp: boolean, written: WrittenResult | null): number {
    this.#paused = false
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#draw()
    this.#live?.keep()
    const last = this.#last
    switch (last?.type) {
      case "workflow_completed":
        return this.#completed(last.data, written)
      case "workflow_failed":
        complain(showError(last.data.error))
        return last.data.error.kind === "internal_error" ? 3 : 1
      case "workflow_cancelled":
        if (!gaveUp) complain("Cancelled.")
        return 130
      default:
        throw new Error(`The run's events end with ${last?.type ?? "nothing"}`)
    }
  }

  #completed({ output, usage, duration_ms }: EventData["workflow_completed"], written: WrittenResult | null): number {
    const failed = written?.failed === true
    if (this.#flags.quiet !== true) {
      complain(this.#palette.faint(`Done in ${seconds(duration_ms)}, ${tokensText(usage)}.`))
    }
    if (this.#flags.quiet !== true || failed) for (const note of written?.notes ?? []) complain(visibleText(note))
    if (this.#flags.events !== true) standardOutput.print(visibleJson(written?.result ?? output.result, 2))
    return failed ? 1 : 0
  }

  #draw(): void {
    const live = this.#live
    if (live === null || this.#paused) return
    const lines = this.#above
    this.#above = []
    if (lines.length > 0) this.note(lines.join("\n"))
    live.draw(progressLines(this.#state, Date.now(), live.size, this.#palette))
  }
}

/** The kind, then every issue with its place. */
function showError({ kind, message, issues }: WireError): string {
  const palette = paletteFor(standardError)
  const lines = issues.map(({ path, message: said, hint }) => {
    // Many sentences name their place already.
    const place = path === "" || said.includes(path) ? "" : `${path}: `
    return `  ${visibleText(`${place}${said}${hint === undefined ? "" : ` (${hint})`}`)}`
  })
  const [only] = lines
  const one = lines.length === 1 && only !== undefined ? only.trim() : null
  return `${palette.error(`${kind}:`)} ${one ?? [visibleText(message), ...lines].join("\n")}`
}
