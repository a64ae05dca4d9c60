import type { JsonValue } from "../base/json-value.ts"
import type {
  AskedQuestion,
  EventData,
  InterruptedStep,
  LogEvent,
  ModelCallRecord,
  StartedWait,
  WireError,
} from "./events.ts"
import type { AssistantMessage, Message, PromptMessage, ToolPart } from "./messages.ts"
import type { TurnProgress } from "./turn-progress.ts"
import { noConsumption, type ConsumptionByAll } from "./consumption.ts"

import { nothingSpent, type Spent } from "./usage.ts"
import type { Alarm, BatchReplayData, TurnReplayData } from "./replay-data.ts"
import type { LedgerFold } from "./ledger-fold.ts"
import type { LogWriter } from "./log-version.ts"

/**
 * The state that a log records. A resumed run is an ordinary run with a past: it goes through the same steps,
 * and each effect that the past knows the outcome of is not made again.
 */
export interface ReplayState {
  lastId: number
  /** What the run has used; null for one that has not begun. */
  ledger: LedgerFold | null
  /** The writer of the log; the newest one if there were several. */
  writer: LogWriter | null
  /** The size of the log. */
  logBytes: number
  /** Milliseconds; null for a run that has not begun. */
  startedAt: number | null
  /** Time of the last event in milliseconds; null for a run that has not begun. */
  lastAt: number | null
  planned: boolean
  ended: boolean
  /** The failures of agents, in their order. */
  readonly failures: { readonly agent: string; readonly error: WireError }[]
  /** Steps that were skipped, by `placeKey` of their id, with why those failed that did. */
  readonly skipped: Map<string, WireError | null>
  spent: Spent
  /** Consumption that counts against the run's limits. */
  used: ConsumptionByAll
  /** When each agent first started, in milliseconds, and when it last ended a step. */
  readonly agentTimes: Map<string, AgentTime>
  /** When no process had the run: it waited for people (the last wait may go on still), or was between two owners. No time limit counts that. */
  readonly idle: { readonly from: number; to: number | null }[]
  /** By `placeKey`. */
  readonly agents: Map<string, AgentReplayState>
  /** By scope: the calls of workflows that are made here. */
  readonly workflowCalls: Map<string, CallReplayState>
  /** By scope: what happened inside of every call of a workflow. All of a run share one. */
  readonly inside: Map<string, ReplayState>
  /** The file that is called here; null for the run itself, and where nothing of the call is known. */
  file: string | null
  /** By id, all that were prepared. */
  readonly batches: Map<string, BatchReplayState>
  /** The batch that an item waits for, by `placeKey` of its agent. */
  readonly inBatch: Map<string, string>
  /** Why items of an agent were called directly, in their order, by agent. */
  readonly leftBatches: Map<string, EventData["batch_left"]["reason"][]>
  /** What the last `run_waiting` armed; null for a run that is not parked. */
  parked: { readonly event: LogEvent; readonly alarms: readonly Alarm[] } | null
  /** Steps that completed under an earlier version of the workflow, which nothing that is to come depends on. They are not evaluated again. */
  readonly outdated: Set<string>
  /** It has moved to another version since it was parked: steps may be ready that wait for nothing. */
  hasMoved: boolean
  /** Answers, and values of waits, that a re-run took over, by `placeKey` of the step's id. */
  readonly reusedAnswers: Map<string, StepOutcome>
  readonly loopsStarted: Map<string, number>
  readonly loopsCompleted: Set<string>
  /** Agents of which a model has answered an item, or failed to. */
  readonly answered: Set<string>
  /** By `placeKey` of the value (`agent.name` for one of an agent's own). */
  readonly dynamics: Set<string>
  /** `call`, `read` and `render` of the workflow's own, by `placeKey` of their site. */
  readonly effects: Map<string, EffectReplayState>
  /** Effects that failed, so that their value is null, with the failure. */
  readonly skippedEffects: Map<string, WireError | null>
  /** Fallbacks of the models that summarise for an agent, by agent. */
  readonly summaryFallbacks: Map<string, FallbackReplayState[]>
  /** The latest summary that an agent had made, by agent. */
  readonly summaries: Map<string, string>
  readonly servers: Set<string>
  /** Calls made, by tool, and by site for those of the workflow's own. */
  readonly toolCalls: Map<string, number>
  readonly siteCalls: Map<string, number>
  /** By id: all questions, and those of `ask` steps by their place. */
  readonly questions: Map<string, QuestionReplayState>
  readonly asks: Map<string, QuestionReplayState>
  /** By id: all waits, and those of this file by their place. */
  readonly waits: Map<string, WaitReplayState>
  readonly waitSteps: Map<string, WaitReplayState>
  /** How often the run was taken up after a process that died, without getting any further since. */
  vainResumes: number
  /** Of these, the processes that died while they ran this run alone; `runsAlone`: the last one runs it alone, and nothing more is known of that. */
  deathsAlone: number
  runsAlone: boolean
}

/** A stretch of time, in milliseconds since the epoch. */
export interface TimeRange {
  readonly from: number
  readonly to: number
}

export interface AgentTime {
  readonly startedAt: number
  endedAt: number | null
}

export interface AgentReplayState {
  startedAt: number | null
  completed: StepOutcome | null
  failed: WireError | null
  /** Turns without an answer, by number. */
  begun: Map<number, BegunTurn>
  summary: string | null
  /** By turn, from 1. */
  turns: Map<number, TurnReplayState>
  /** In their order. */
  fallbacks: FallbackReplayState[]
}

export interface BatchReplayState extends BatchReplayData {
  readonly batch: string
  readonly agent: string
  /** When it was first sent, or about to be, in milliseconds. */
  readonly preparedAt: number
  /** Null where nobody knows whether the vendor has accepted it. */
  providerId: string | null
  submittedAt: number | null
}

export interface StepOutcome {
  readonly output: JsonValue
  /** Null where it was not kept. */
  readonly history: readonly Message[] | null
  /** Hash of what decided it, for a re-run. */
  readonly facts: string | undefined
}

/** A model that had failed for good. */
export interface FallbackReplayState {
  readonly turn: number
  readonly from: string
  readonly to: string
  readonly error: WireError
  readonly calls: readonly ModelCallRecord[]
}

export interface BegunTurn {
  /** How many attempts clients may have seen a part of. */
  attempts: number
  progress: TurnProgress | null
}

/** A turn that called tools. */
export interface AnsweredTurn extends Omit<TurnReplayData, "message"> {
  readonly message: AssistantMessage
}

export interface TurnReplayState {
  readonly answer: AnsweredTurn
  /** By position in the turn. */
  readonly calls: Map<number, CallReplayState>
}

export interface CallReplayState {
  readonly callId: string
  /** Set for a call of a workflow. */
  readonly scope?: string
  /** Null for one that has only been asked about. */
  startedAt: number | null
  /** Questions about the call, in order. */
  readonly questions: QuestionReplayState[]
  /** Questions of the server's last round that nobody has answered. */
  asked: AskedByServer | null
  outcome: CallOutcome | null
}

export interface AskedByServer {
  readonly round: number
  readonly state: string | null
  /** By the server's names. */
  readonly questions: Map<string, QuestionReplayState>
}

export interface QuestionReplayState {
  readonly asked: AskedQuestion
  outcome: QuestionOutcome | null
  /** Hash of what decides which answers fulfil its requirements, where it has any. */
  readonly requirements?: string
}

export type QuestionOutcome = { readonly kind: "answered"; readonly answer: JsonValue } | { readonly kind: "expired" }

/** A wait of a step. */
export interface WaitReplayState {
  readonly started: StartedWait
  outcome: WaitEnd | null
  /** Hash of what it waits for, for a re-run. */
  readonly facts: string | undefined
}

export type WaitEnd = Pick<EventData["wait_ended"], "because" | "output">

export type CallOutcome =
  | { readonly kind: "completed"; readonly result: JsonValue; readonly parts?: readonly ToolPart[] }
  | { readonly kind: "failed"; readonly error: WireError; readonly modelText: string | null; readonly refused: boolean }

/** `facts`: hash of what decided it, for a re-run. */
export type EffectReplayState = { readonly facts: string | undefined } & (
  | { readonly kind: "call"; readonly call: CallReplayState }
  | { readonly kind: "read"; readonly value: JsonValue }
  | { readonly kind: "render"; readonly messages: readonly PromptMessage[] }
)

/** Tells an agent or site of one iteration, and of one item of each list around it, from those of the others. */
export function placeKey(name: string, iteration: number | null | undefined, items?: readonly number[]): string {
  const ofLoop = iteration === null || iteration === undefined ? name : `${name}#${iteration}`
  return items === undefined || items.length === 0 ? ofLoop : `${ofLoop}@${items.join(".")}`
}

/** The parts of a `placeKey`. */
export function placeOf(key: string): { readonly name: string; readonly position: string } {
  const [, name = key, position = ""] = /^(.*?)((?:#\d+)?(?:@[\d.]+)?)$/s.exec(key) ?? []
  return { name, position }
}

export function emptyReplayState(): ReplayState {
  return {
    lastId: 0,
    ledger: null,
    writer: null,
    logBytes: 0,
    startedAt: null,
    lastAt: null,
    planned: false,
    ended: false,
    failures: [],
    skipped: new Map(),
    spent: nothingSpent,
    used: { run: noConsumption(), agents: new Map() },
    agentTimes: new Map(),
    idle: [],
    agents: new Map(),
    workflowCalls: new Map(),
    inside: new Map(),
    file: null,
    batches: new Map(),
    inBatch: new Map(),
    leftBatches: new Map(),
    parked: null,
    outdated: new Set(),
    hasMoved: false,
    reusedAnswers: new Map(),
    loopsStarted: new Map(),
    loopsCompleted: new Set(),
    answered: new Set(),
    dynamics: new Set(),
    effects: new Map(),
    skippedEffects: new Map(),
    summaryFallbacks: new Map(),
    summaries: new Map(),
    servers: new Set(),
    toolCalls: new Map(),
    siteCalls: new Map(),
    questions: new Map(),
    asks: new Map(),
    waits: new Map(),
    waitSteps: new Map(),
    vainResumes: 0,
    deathsAlone: 0,
    runsAlone: false,
  }
}

/** The state of a called workflow, which shares questions, waits and idle time with the run. */
export function emptyPastInside({ idle, questions, waits, inside }: ReplayState): ReplayState {
  return { ...emptyReplayState(), idle, questions, waits, inside }
}

/** The log ends with a wait for people. */
export function isWaiting({ idle }: ReplayState): boolean {
  return idle.at(-1)?.to === null
}

/** When no process had the run until this one took it up, which is now. */
export function idleUntil({ idle, lastAt }: ReplayState, now: number): TimeRange[] {
  const closed = idle.map(({ from, to }) => ({ from, to: to ?? now }))
  return lastAt === null ? closed : [...closed, { from: lastAt, to: now }]
}

/**
 * Milliseconds from one time of a log to another in which a process had the run. Between two events of one owner, times differ by what its monotonic
 * clock measured: a wall clock that is wrong, or is set, adds nothing.
 */
export function timeHad(idle: readonly TimeRange[], from: number, to: number): number {
  let had = to - from
  let end = from
  for (const range of idle) {
    const begin = Math.max(range.from, end)
    end = Math.max(end, Math.min(range.to, to))
    had -= Math.max(0, end - begin)
  }
  return Math.max(0, had)
}

/** The model calls of steps that have begun and not ended, as far as the log has them. */
export function interruptedSteps(past: ReplayState): InterruptedStep[] {
  return [...interruptedIn(past, {}), ...[...past.inside].flatMap(([scope, inner]) => interruptedIn(inner, { scope }))]
}

function interruptedIn({ agents }: ReplayState, about: { readonly scope?: string }): InterruptedStep[] {
  return [...agents].flatMap(([key, { completed, failed, turns, begun, fallbacks, summary }]) => {
    if (completed !== null || failed !== null) return []
    const { name, position } = placeOf(key)
    const calls = [
      ...fallbacks.flatMap((one) => one.calls),
      ...[...turns.values()].flatMap(({ answer }) => answer.calls),
      ...[...begun].flatMap(([turn, { progress }]) => (turns.has(turn) ? [] : (progress?.calls ?? []))),
    ]
      // The event of a compaction counts its calls.
      .filter(({ turn }) => turn > 0 || summary === null)
      .toSorted((a, b) => a.turn - b.turn || a.attempt - b.attempt)
    if (calls.length === 0) return []
    return [{ ...about, agent: name, ...(position === "" ? {} : { iteration: Number(position.slice(1)) }), calls }]
  })
}

/** The state of a new run. Never written to. */
export const noReplayState: ReplayState = emptyReplayState()
