import type { BatchSeat } from "../../ports/batch-seat.ts"
import type { CanonicalText } from "../../base/canonical-json.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { Budget } from "../budget/budget.ts"
import type { PriceList } from "../budget/price-list.ts"
import type { BudgetClaim, Budgets } from "../budget/budgets.ts"
import type { Price } from "../../plan/price-of-model.ts"
import type { RunLedger } from "../log/run-ledger.ts"
import type { Rates } from "../budget/rates.ts"
import type { TimeLimits } from "../budget/time-limits.ts"
import type { FileFunctions, Scope, StepFailure } from "../values/scope.ts"
import type { EvaluationWork } from "../values/evaluation-work.ts"
import { RunCode, type CodeUse } from "../values/run-code.ts"
import { defaultMaxKept } from "../values/evaluation-work.ts"
import type { InterruptedStep, WireError } from "../../log/events.ts"
import { FileWork } from "../values/file-work.ts"
import type { RunFiles } from "../files/run-files.ts"
import type { EventLog } from "../log/log.ts"
import type { Permits } from "../shares/permits.ts"
import type { Message } from "../../log/messages.ts"
import type { Backend, ModelClient, ResponseFacts } from "../../ports/model.ts"
import type { ModelBatches } from "../../ports/model-batches.ts"
import type { RandomSource } from "../../ports/random-source.ts"
import type { Clock } from "../../ports/clock.ts"
import type { AnsweredCall, ContentPort } from "../../ports/content.ts"
import type { CodeHost } from "../../ports/code.ts"
import type { Arrivals } from "../../ports/egress.ts"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import { pass, type Gate } from "../../ports/gate.ts"
import type { HostSession, ToolHost } from "../../ports/tools.ts"
import type { RunOptions, RunStore } from "../../ports/store.ts"
import { hasCode } from "../../plan/plan-functions.ts"
import { prepare, type Prepared } from "../../plan/prepare.ts"
import type { Questions } from "../questions/ask-and-wait.ts"
import type { OpenWaits } from "../waiting/open-waits.ts"
import { namedSecrets, type Redactor } from "../secrets/redact.ts"
import type { ServerSecrets } from "../secrets/secrets-of-run.ts"
import type { EarlierRun } from "../../log/earlier-run.ts"
import type { Alarm } from "../../log/replay-data.ts"
import type { QuestionOutcome, QuestionReplayState, ReplayState } from "../../log/replay-state.ts"
import type { RunValues } from "./run-values.ts"
import type { ShownContent } from "../content/shown-content.ts"
import type { TakenRun } from "./taken-run.ts"
import { addSpent, type Spent } from "../../log/usage.ts"
import type { RequestKeeper, Sent } from "./requests.ts"
import {
  codeRunMs,
  runCalledWorkflows,
  runCalls,
  runKeptRequestsBytes,
  runOutputBytes,
  runTimeMs,
  runValueBytes,
} from "../../base/limits.ts"

/** Reserves for a call of a batch from the budgets of the caller. */
export type LaneClaims = (call: {
  readonly attempt: number
  readonly input: number
  readonly output: number
  readonly price: Price | null
  readonly least?: number | undefined
}) => Promise<BudgetClaim>

/** The batches of an agent. */
export interface Lane {
  /** How the item of an iteration makes its calls; null: directly, as other agents do. */
  seat(iteration: number, claims: LaneClaims | null): Promise<BatchSeat | null>
  /** Batches that the vendor knows, or may know. */
  readonly open: readonly { readonly id: string; readonly model: string; readonly providerId: string | null }[]
}

export type GivenResult = { readonly output: JsonObject } | { readonly error: WireError }

/** A value that a test gives to a wait. */
export type GivenValue = { readonly value: JsonValue } | { readonly error: WireError }

/** A call whose result a test may give. */
export interface GivenCall {
  readonly call_id: string
  readonly iteration: number | null
  readonly items: readonly number[]
  readonly byModel: boolean
}

/** What a run needs of the world. */
export interface RunPorts {
  readonly store: RunStore
  readonly model: ModelClient
  /** Makes calls in batches. Without it all are made directly. */
  readonly batches?: ModelBatches
  readonly tools: ToolHost
  readonly clock: Clock
  readonly random: RandomSource
  /** Called with errors that are bugs of this service: the run's own error does not describe them. */
  bug(error: unknown): void
  /** Called with sentences for the operator: ordinary ones at `info`. */
  note?(run_id: string, sentence: string, level: "info" | "error"): void
  /** The sandbox for code, loaded when it is first needed; absent where a service runs none. */
  readonly code?: () => Promise<CodeHost>
  /** In a test: the result that a step is given, in place of asking its model or a person. */
  given?(step: string, iteration: number | null, call?: GivenCall): GivenResult | undefined
  /** In a test: the value that a wait is given. Nothing waits there. */
  givenWait?(step: string, iteration: number | null): GivenValue | undefined
  /** In a test: the ports of a file that this one calls, with what its steps are given. */
  within?(workflow: string): RunPorts
  /** In a test: what `run` is. */
  readonly run?: RunValues
  /** Why the service can take no work right now, as a sentence for callers; null when it can. */
  trouble?(): string | null
  /** What the process lacks, so that anything may fail without being a bug, as a sentence for callers; null when it lacks nothing. */
  shortage?(): string | null
  /** Absent where the service keeps no files. */
  readonly files?: RunFiles
  /** Prices of models that have none in their file. */
  readonly prices?: PriceList
  /** What callers and workflows may use in an hour, a day or a month. */
  readonly budgets?: Budgets
  /** Paces the model calls of all runs. */
  readonly rates?: Rates
  /** The server's own secrets, for workflows of its folder. */
  readonly serverSecrets?: ServerSecrets
  /** Called with the names of the server's secrets that a run is given. */
  secretsRead?(run: Pick<TakenRun, "run_id" | "caller" | "workflow">, names: readonly string[]): void
  /** The trace of a run whose request belongs to none. Absent where no spans are sent. */
  ownTrace?(run_id: string): string
  /** What traces show of runs. Absent where that is nothing. */
  readonly content?: ContentPort
  /** Called with what a backend says of an answer. Absent where nobody wants to know. */
  responded?(run_id: string, call: AnsweredCall, response: ResponseFacts): void
  /** Called when the plan of a run, or of a file that it calls, is about to run here. */
  planned?(run_id: string, scope: string | null, plan: Plan): void
  /** Called for each run that this process takes, before any of its work. */
  taken?(run: TakenRun): void
  /** Called when a run starts after it waited this long in the queue. */
  started?(run_id: string, queuedMs: number): void
}

/** The operator's settings that bound a run. */
export interface RunLimits {
  readonly maxIterations: number
  /** Workflows that a run may call, nested ones included. */
  readonly maxCalled: number
  /** Where the request names none. */
  readonly max_concurrency: number
  /** Where neither the request nor the file names one. */
  readonly timeout_ms: number
  /** The longest time that a request or a file may ask for. */
  readonly maxRunMs: number
  readonly cacheTtlMs: number
  readonly outputBytes: number
  /** The largest value that an expression may make. */
  readonly valueBytes: number
  /** Memory of all values that the run keeps: dynamic values, outputs, conversations. */
  readonly keptBytes: number
  /** Events and what is kept with them, in about the bytes that they take in memory. */
  readonly logBytes: number
  /** Bytes of the requests of model calls and tool calls that are kept with the run; 0 for none. */
  readonly requestBytes: number
  /** How long a run keeps what it has paid for while the store fails, before it is given back. */
  readonly storePatienceMs: number
  /** CPU of all calls of code. */
  readonly codeMs: number
}

export const defaultLimits: RunLimits = {
  maxIterations: 10_000,
  maxCalled: runCalledWorkflows,
  max_concurrency: runCalls,
  timeout_ms: runTimeMs,
  maxRunMs: 24 * 3_600_000,
  cacheTtlMs: 3_600_000,
  outputBytes: runOutputBytes,
  valueBytes: runValueBytes,
  keptBytes: defaultMaxKept,
  logBytes: 512 * 1024 * 1024,
  requestBytes: runKeptRequestsBytes,
  storePatienceMs: 120_000,
  codeMs: codeRunMs,
}

/** A step that has not ended: its model calls, and those of its requests that no event has kept. */
export interface UnfinishedStep {
  readonly step: InterruptedStep
  readonly sent: readonly Sent[]
}

/** The part of a run's context that the workflows it calls share with it. */
export interface SharedContext {
  readonly runId: string
  readonly caller: string
  /** The workflow of the server's folder; null for source that a caller sent. */
  readonly workflow: string | null
  readonly options: RunOptions
  readonly limits: RunLimits
  /** How many workflows the run has called. */
  readonly called: { count: number }
  readonly maxConcurrency: number
  /** Passed right before every call that leaves this process. */
  readonly gate: Gate
  readonly redactor: Redactor
  /** All that its steps wait for. */
  readonly waits: OpenWaits
  readonly questions: Questions
  /** What it has used by the hour. */
  readonly ledger: RunLedger
  /** Each step of the run that has not ended, those of called workflows included. */
  readonly unfinished: Set<() => UnfinishedStep>
  /** Keeps the requests of model calls and tool calls; null where that is switched off. */
  readonly requests: RequestKeeper | null
  /** Count what has arrived of answers as memory of the run. */
  readonly arrivals: Arrivals
  /** What the expressions cost. */
  readonly work: EvaluationWork
  /** What code may still use. */
  readonly codeUse: CodeUse
  /** Of all agents of the run that make their calls in batches, those of called workflows included. */
  readonly lanes: Set<{ readonly running: RunContext; readonly agent: string; readonly lane: Lane }>
  /** Work outside of the permits that does not wait for people. */
  readonly busyWork: Set<Promise<void>>
  /** It only finds out what it would ask: what it has done is not looked up at its servers again. */
  readonly rehearses: boolean
  /** Does all that the plan of a called workflow says, and gives its result. A failure is reported to its `fail`. */
  readonly runPlan: (called: RunContext) => Promise<JsonObject>
}

/** The part that a run, and each workflow that it calls, is given for itself. */
export interface OwnContext {
  /** Which call of a workflow this is; null for the run itself. */
  readonly scope: string | null
  /** What calls it; null for the run itself. */
  readonly around: RunContext | null
  readonly plan: Plan
  /** Files that are given by their addresses are fetched before any step begins. */
  input: JsonObject
  readonly secrets: JsonObject
  readonly ports: RunPorts
  /** What traces show of it; null: nothing. */
  readonly content: ShownContent | null
  readonly log: EventLog
  readonly permits: Permits
  /** Aborts when it must stop, for any reason. */
  readonly signal: AbortSignal
  readonly past: ReplayState
  /** What a re-run may take over; null for a run that starts afresh. */
  readonly earlier: EarlierRun | null
  /** What `run` is in its expressions: known once the run has begun. */
  run: JsonObject
  /** What calls may still use, in a run with limits. */
  readonly budget: Budget
  readonly time: TimeLimits
  /** Stops it with the first failure that is reported to it. */
  fail(error: unknown): void
}

/** A run under way, or a workflow that it calls: what its parts share. */
export interface RunContext extends SharedContext, OwnContext {
  readonly shared: SharedContext
  readonly prepared: Prepared
  /** The secrets with their names in place of their values. */
  readonly named: () => JsonObject
  /** By `placeKey`: agents in which an approval was asked for. */
  readonly approvedAgents: Set<string>
  /** Agents whose tools an event has described. */
  readonly describedTools: Set<string>
  readonly agents: Map<string, JsonValue>
  readonly rounds: Map<string, JsonValue>
  readonly answers: Map<string, JsonValue>
  readonly waited: Map<string, JsonValue>
  readonly dynamics: Map<string, JsonValue>
  /** Why steps and calls failed that it went on after, by their `placeKey`, where an expression asks. */
  readonly failures: Map<string, StepFailure>
  /** Message histories of agents that others continue. */
  readonly histories: Map<string, readonly Message[]>
  /** Summaries that the steps of a loop share, by agent. */
  readonly summaries: Map<string, Promise<{ readonly text: string; readonly fellBack: boolean }>>
  /** Of agents that make their calls in batches, by agent. */
  readonly lanesOf: Map<string, Lane>
  /** By model. */
  readonly backends: Map<string, Backend>
  /** The same without the values of secrets. */
  readonly backendFacts: Map<string, CanonicalText>
  /** Calls code; null for a plan without any. */
  code: RunCode | null
  readonly fileWork: FileFunctions
  host: HostSession | null
  readonly toolCalls: Map<string, number>
  readonly siteCalls: Map<string, number>
  /** Used by all calls whose agent has ended. */
  spent: Spent
  /** Memory that is counted until a called workflow ends. */
  keptBytes: number
  /** Work that only the end of the run waits for. */
  readonly backgroundWork: Set<Promise<void>>
}

/** The context of a run, or of a workflow that it calls. Results, counts and connections begin anew, or where an interrupted run stopped. */
export function openContext(shared: SharedContext, own: OwnContext): RunContext {
  const { past, plan, secrets } = own
  let named: JsonObject | null = null
  const running: RunContext = {
    ...shared,
    ...own,
    shared,
    prepared: prepare(plan),
    named: () => (named ??= namedSecrets(secrets)),
    approvedAgents: new Set(),
    describedTools: new Set(),
    agents: new Map(),
    rounds: new Map(),
    answers: new Map(),
    waited: new Map(),
    dynamics: new Map(),
    failures: new Map(),
    histories: new Map(),
    summaries: new Map(),
    lanesOf: new Map(),
    backends: new Map(),
    backendFacts: new Map(),
    code: null,
    fileWork: new FileWork({
      runId: shared.runId,
      scope: own.scope,
      caller: shared.caller,
      files: own.ports.files?.files,
      call: (work) => callStored(running, work),
    }),
    host: null,
    toolCalls: new Map(past.toolCalls),
    siteCalls: new Map(past.siteCalls),
    spent: past.spent,
    keptBytes: 0,
    backgroundWork: new Set(),
  }
  if (hasCode(plan)) running.code = codeOf(running)
  return running
}

function codeOf(running: RunContext): RunCode {
  const { runId, scope, caller, ports, signal, codeUse } = running
  return new RunCode({
    host: ports.code,
    use: codeUse,
    seed: scope === null ? runId : `${runId}/${scope}`,
    share: caller,
    now: () => {
      const { started_at: startedAt } = running.run
      return typeof startedAt === "string" ? Date.parse(startedAt) : 0
    },
    signal,
    busy: (work) => whileBusy(running, work),
  })
}

/** Closes its connections. */
export async function closeHost({ host, ports }: RunContext): Promise<void> {
  try {
    await host?.close()
  } catch (error) {
    ports.bug(error)
  }
}

/** Counts what calls have used, for the workflow and for all around it. */
export function spend(running: RunContext, spent: Spent): void {
  for (let at: RunContext | null = running; at !== null; at = at.around) at.spent = addSpent(at.spent, spent)
}

/** Keeps why a step or call failed that the run goes on after, for expressions that ask. */
export function keepFailure(running: RunContext, key: string, error: WireError | null, path: string): void {
  if (error === null || !running.prepared.showsFailures) return
  const { kind, message } = error
  keepValue(running, memoryOf(message), path)
  running.failures.set(key, { kind, message })
}

/** Counts memory of a value that is kept until the end of the run, or of the called workflow. */
export function keepValue(running: RunContext, bytes: number, path: string): void {
  running.work.keep(bytes, path)
  running.keptBytes += bytes
}

/** How an event or a question says in which called workflow it is. */
export function inScope({ scope }: RunContext): { readonly scope?: string } {
  return scope === null ? {} : { scope }
}

const none: ReadonlyMap<string, JsonValue> = new Map()

/** What an expression outside of any agent can refer to. `secrets`: other values in place of the run's. */
export function outerScope(running: RunContext, path: string, secrets = running.secrets): Scope {
  return {
    input: running.input,
    secrets,
    run: running.run,
    agents: running.agents,
    rounds: running.rounds,
    answers: running.answers,
    waited: running.waited,
    dynamics: running.dynamics,
    failures: running.failures,
    locals: none,
    variables: none,
    items: none,
    positions: [],
    matched: null,
    path,
    iteration: null,
    functions: running.plan,
    ...(running.code !== null && { code: running.code }),
    files: running.fileWork,
    work: running.work,
  }
}

/** Makes a call that leaves this process, when there is room for it and the work that led to it is stored. */
export function callOut<T>(running: RunContext, call: () => Promise<T>): Promise<T> {
  return running.permits.use(() => callStored(running, call))
}

/** What it takes to begin a call, in bytes of large work. */
const callBytes = 16 * 1024

/**
 * Makes a call in a place that the caller has. It waits until recorded work is durable: the receiver of the call may rely on
 * it that what led to it is never done again.
 */
export function callStored<T>(running: RunContext, call: () => Promise<T>): Promise<T> {
  const stored = running.log.workStored()
  if (stored === null) return callWithLease(running, call)
  // Hundreds of calls may be stored together: they begin a few at a time.
  const turn = stored.then(() => loopTurns.spend(callBytes))
  return turn.then(() => {
    running.signal.throwIfAborted()
    return callWithLease(running, call)
  })
}

/** Makes a call, or one more attempt at it, while the run is surely this process's. */
export function callWithLease<T>(running: RunContext, call: () => Promise<T>): Promise<T> {
  const wait = running.gate()
  return wait === null ? call() : callAfter(wait, running, call)
}

async function callAfter<T>(wait: Promise<void>, running: RunContext, call: () => Promise<T>): Promise<T> {
  await wait
  await pass(running.gate)
  running.signal.throwIfAborted()
  return call()
}

/** While this is under way the run does something, and does not only wait for people. */
export async function whileBusy<T>(running: RunContext, work: Promise<T>): Promise<T> {
  const tracked = work.then(
    () => undefined,
    () => undefined,
  )
  running.busyWork.add(tracked)
  try {
    return await work
  } finally {
    running.busyWork.delete(tracked)
  }
}

/** What has become of a question, when it is known. Called workflows that wait for a person leave their places to others. */
export function outcomeOf(
  { questions, permits, signal }: RunContext,
  question: QuestionReplayState,
): Promise<QuestionOutcome> {
  if (question.outcome === null) permits.giveUp()
  return questions.outcome(question, signal)
}

/**
 * Resolves at the time of the alarm. Where the run has nothing else to do it parks, and its steps find out anew, when it is woken, whether they still have to wait.
 * Call it without a permit: a run with an open permit does not park.
 */
export function untilAlarm({ waits, permits, signal }: RunContext, alarm: Alarm): Promise<void> {
  permits.giveUp()
  return waits.alarm(alarm, signal)
}

/** Runs on beside the run, whose end waits for it. */
export function runInBackground(running: RunContext, work: Promise<void>): void {
  const tracked = work
    .catch((error: unknown) => running.fail(error))
    .finally(() => running.backgroundWork.delete(tracked))
  running.backgroundWork.add(tracked)
}

/** The end of the run waits for this work even if its caller has given up: its events are logged before the end. */
export function finishBeforeEnd<T>(running: RunContext, work: Promise<T>): Promise<T> {
  const tracked: Promise<void> = work
    .then(
      () => undefined,
      () => undefined,
    )
    .finally(() => running.backgroundWork.delete(tracked))
  running.backgroundWork.add(tracked)
  return work
}
