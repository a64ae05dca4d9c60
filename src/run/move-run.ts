import { LightSignal } from "../base/light-signal.ts"
import { askedQuestion } from "../log/asked-question.ts"
import type { AskedQuestion, LogEvent, WaitingFor } from "../log/events.ts"
import { LogFold } from "../log/fold.ts"
import { reduce } from "../log/reduce.ts"
import type { ReplayData } from "../log/replay-data.ts"
import { replayData } from "../log/replay/replay-scope.ts"
import type { QuestionReplayState, ReplayState } from "../log/replay-state.ts"
import { initialState, type RunState } from "../log/run-state.ts"
import { pricesOf } from "../log/usage.ts"
import type { AskNode, Plan, PlanNode } from "../plan/plan-shape.ts"
import { expressionsOf, prepare } from "../plan/prepare.ts"
import { traits } from "../plan/expression-traits.ts"
import { LeaseLost, WaitSettled, type Lease, type RunRequest, type RunStore } from "../ports/store.ts"
import { overlayStore } from "../ports/wrap-store.ts"
import { limitsOfRun, showLimits } from "./budget/limit-scopes.ts"
import type { Deadlines } from "./budget/deadlines.ts"
import type { RunLimits, RunPorts } from "./context/run-context.ts"
import { RunLog } from "./log/log.ts"
import { judgeMove, type Judgement } from "./moving/judge-move.ts"
import { answersFit, looksSame } from "./moving/fitting-question.ts"
import { stepStates, type StepState } from "./moving/step-states.ts"
import { rehearse } from "./run.ts"
import { runClock } from "./run-clock.ts"
import { inputOf } from "./values/input-of.ts"

export interface MoveParts {
  readonly ports: RunPorts
  readonly limits: RunLimits
  readonly deadlines: Deadlines
  readonly owner: string
  readonly leaseMs: number
}

/** A run that waits, and what it is to be from now on. */
export interface MoveJob {
  readonly run_id: string
  readonly caller: string
  readonly created_at: number
  readonly before: Plan
  readonly after: Plan
  readonly request: RunRequest
  /** That of the new version, with the version before. */
  readonly moved: RunRequest
  readonly dryRun: boolean
}

/** `gone`: it does not wait any more. */
export type MoveResult =
  | { readonly outcome: "moves" | "moves_and_asks_again" | "stays"; readonly because: readonly string[] }
  | { readonly outcome: "gone" }

/** Moves a run that waits to another version of its workflow, in one append; or says what a move would do. */
export async function moveRun(job: MoveJob, parts: MoveParts): Promise<MoveResult> {
  const { store } = parts.ports
  const read = await readLog(store, job)
  const plan = await planMove(job, read, parts)
  if ("stays" in plan) return { outcome: "stays", because: plan.stays }
  const outcome = plan.lost.length > 0 ? "moves_and_asks_again" : "moves"
  if (job.dryRun) return { outcome, because: plan.because }
  const lease = await store.claimParked(job.run_id, parts.owner, parts.leaseMs)
  if (lease === null) return { outcome: "gone" }
  const stays = (why: string): MoveResult => ({ outcome: "stays", because: [why] })
  try {
    const now = await store.lookup(job.run_id)
    if (now.found === "run" && now.run.workflow?.version === job.moved.workflow?.version) {
      await store.parkAgain(lease, [])
      return stays(`it is of version ${now.run.workflow?.version} already: it was moved meanwhile`)
    }
    // It went on and came back meanwhile.
    if (now.found !== "run" || now.run.last_event_id !== read.past.lastId) {
      await store.parkAgain(lease, [])
      return stays("it has gone on meanwhile: move it once more")
    }
    const outcomes = await store.waits.outcomes(job.run_id)
    if (outcomes.length > 0) {
      await store.parkAgain(lease, [])
      return stays("an answer is on its way")
    }
    await append(job, lease, read, plan, parts)
  } catch (error) {
    if (error instanceof LeaseLost) return { outcome: "gone" }
    if (!(error instanceof WaitSettled)) {
      await store.parkAgain(lease, []).catch(() => undefined)
      throw error
    }
    await store.parkAgain(lease, [])
    return stays("an answer is on its way")
  }
  return { outcome, because: plan.because }
}

interface ReadRun {
  readonly past: ReplayState
  readonly state: RunState
}

async function readLog(store: RunStore, { run_id, before }: MoveJob): Promise<ReadRun> {
  const fold = new LogFold(pricesOf(before))
  const state = initialState()
  for (;;) {
    const page = await store.read(run_id, fold.past.lastId, 500, "kept")
    if (page.length === 0) return { past: fold.finished(), state }
    for (const event of page) {
      fold.take(event)
      reduce(state, event)
    }
  }
}

interface PlannedMove extends Pick<Judgement, "reused" | "outdated"> {
  /** Open questions that are withdrawn. */
  readonly lost: readonly AskedQuestion[]
  /** Ids of steps. */
  readonly asked_again: readonly string[]
  readonly dropped: readonly string[]
  readonly asked: readonly LogEvent[]
  /** Steps are ready that wait for nothing. */
  readonly wakes: boolean
  readonly because: readonly string[]
}

async function planMove(
  job: MoveJob,
  { past, state }: ReadRun,
  parts: MoveParts,
): Promise<PlannedMove | { readonly stays: readonly string[] }> {
  const { before, after, request, moved } = job
  const input = { before: inputOf(before, request.input), after: inputOf(after, moved.input) }
  const states = stepStates(before, state)
  const { secrets, options } = request
  const now = parts.ports.clock.now()
  const judged = judgeMove({
    before,
    after,
    input,
    secrets: Object.keys(secrets),
    limits: options.limits ?? null,
    past,
    states,
    now,
  })
  const { because: why, reused, outdated, changed, gone } = judged
  if (why.length > 0) return { stays: why }
  const rehearsed = await rehearseMove({ ...job, moved: { ...moved, input: input.after } }, past, judged, states, parts)
  if ("failed" in rehearsed) return { stays: [rehearsed.failed] }
  const open = [...past.asks.values()].filter(({ outcome }) => outcome === null)
  const kept = new Set<string>()
  const asked = rehearsed.events.filter((event) => {
    const fitting = event.type === "question_asked" ? fittingFor(job, open, askedQuestion(event.data)) : undefined
    if (fitting !== undefined) kept.add(fitting.asked.id)
    return fitting === undefined
  })
  const lost = open.flatMap(({ asked: { id, name }, asked: question }) => {
    const step = `ask.${name}`
    return (changed.has(step) || gone.includes(step)) && !kept.has(id) ? [question] : []
  })
  const steps = [...new Set(lost.map(({ name }) => `ask.${name}`))]
  const asked_again = steps.filter((step) => changed.has(step))
  const dropped = steps.filter((step) => gone.includes(step))
  return {
    reused,
    outdated,
    lost,
    asked_again,
    dropped,
    asked,
    wakes: rehearsed.wakes,
    because: [
      ...asked_again.map((step) => `${step} ${changed.get(step) ?? "changed"}: it is asked again`),
      ...dropped.map((step) => `${step} is gone: its question is withdrawn`),
      ...outdated.map((step) => `${step} is outdated: it stays as it is, and nothing depends on it`),
    ],
  }
}

/** The open question in place of which this one would be asked, where it does as well. */
function fittingFor(
  { before, after }: MoveJob,
  open: readonly QuestionReplayState[],
  now: AskedQuestion,
): QuestionReplayState | undefined {
  const [old, node] = [askIn(before, now.name), askIn(after, now.name)]
  if (old === undefined || node === undefined) return undefined
  if (!answersFit({ node: old, plan: before }, { node, plan: after })) return undefined
  return open.find(({ asked }) => {
    const { name, iteration, scope } = asked
    return scope === undefined && name === now.name && iteration === now.iteration && looksSame(asked, now)
  })
}

function askIn({ nodes }: Plan, name: string): AskNode | undefined {
  const node = nodes.find((one) => one.kind === "ask" && one.name === name)
  return node?.kind === "ask" ? node : undefined
}

interface RehearsedMove {
  readonly events: readonly LogEvent[]
  readonly wakes: boolean
}

/** Finds out what the new version would ask, with all that the run has done, and without any call. */
async function rehearseMove(
  job: MoveJob,
  past: ReplayState,
  { outdated, changed }: Judgement,
  states: ReadonlyMap<string, StepState>,
  { ports, limits, deadlines }: MoveParts,
): Promise<RehearsedMove | { readonly failed: string }> {
  const events: LogEvent[] = []
  const store = overlayStore(ports.store, {
    append: async (_lease, added) => void events.push(...added),
    read: async () => [],
    onCancel: () => () => undefined,
    waits: { outcomes: async () => [], onOutcome: () => () => undefined },
  })
  const { run_id, caller, created_at, after: plan, moved: request } = job
  const lease = { run_id, owner: "", fence: 0 }
  const refuse = (): Promise<void> => Promise.reject(new LeaseLost(run_id))
  const held = { lease, leave: new LightSignal(), gate: refuse }
  // A step with a question that may fit no more asks anew.
  const asksAnew = (place: string): boolean => changed.has(place.replace(/#\d+$/, ""))
  const seen: ReplayState = {
    ...past,
    outdated: new Set(outdated),
    asks: new Map([...past.asks].filter(([place]) => !asksAnew(place))),
  }
  const holds = ({ id, kind }: PlanNode): boolean => states.get(id) !== "completed" && kind !== "ask"
  const isCalling = (node: PlanNode): boolean =>
    states.get(node.id) !== "completed" && expressionsOf(node).some((one) => !traits(one).pure)
  const { held: waiting, failed } = await rehearse(
    { held, plan, request, caller, created_at, resumed: null, deadlines },
    { ...ports, store },
    limits,
    seen,
    (node) => holds(node) || isCalling(node),
  )
  if (failed !== null) return { failed: `the new version would fail: ${failed.message}` }
  const strange = events.find(({ type }) => type !== "question_asked" && type !== "step_skipped")
  if (strange !== undefined) return { failed: `the new version would do again what is done (${strange.type})` }
  return { events, wakes: waiting.some((id) => states.get(id) !== "begun") }
}

async function append(
  job: MoveJob,
  lease: Lease,
  { past }: ReadRun,
  { reused, outdated, asked_again, dropped, lost, asked, wakes }: PlannedMove,
  { ports, limits }: MoveParts,
): Promise<void> {
  const { after, moved, request } = job
  const events: LogEvent[] = []
  const collecting = overlayStore(ports.store, { append: async (_lease, added) => void events.push(...added) })
  const clock = runClock(ports.clock, past.lastAt ?? job.created_at)
  const log = new RunLog(collecting, lease, clock, past.lastId, () => undefined, {
    before: past.logBytes,
    most: limits.logBytes,
  })
  const [from, to] = [request.workflow?.version ?? "", moved.workflow?.version ?? ""]
  log.add("run_moved", { from, to, reused, outdated, asked_again, dropped })
  const bounds = limitsOfRun(after, request.options.limits ?? null)
  const own = prepare(after)
  const isLimited = Object.keys(bounds.run).length + bounds.agents.size > 0
  log.add("workflow_planned", {
    nodes: own.planned,
    ...(isLimited && { limits: showLimits(bounds, () => 0) }),
    ...(request.options.partials && { partials: true as const }),
  })
  for (const { id, name } of lost) log.add("question_withdrawn", { id, name, because: "moved" })
  const questions: string[] = []
  for (const event of asked) {
    if (event.type === "question_asked") {
      const { at: _at, ...data } = event.data
      log.add("question_asked", data, replayData(event))
      questions.push(data.id)
    } else if (event.type === "step_skipped") {
      const { at: _at, ...data } = event.data
      log.add("step_skipped", data)
    }
  }
  log.add("run_waiting", waitingFor(past, lost, questions), alarmsOf(past))
  await log.stored()
  const input = inputOf(after, moved.input)
  await ports.store.append(lease, events, [], {
    request: { ...moved, input },
    wakes,
    ...(after.scores !== undefined && { scored: true as const }),
    ...(after.content !== undefined && { private: true as const }),
  })
}

function alarmsOf({ parked }: ReplayState): ReplayData<"run_waiting"> | undefined {
  const kept = parked === null || parked.event.type !== "run_waiting" ? undefined : replayData(parked.event)
  return kept
}

/** What it waited for, without the questions that are withdrawn, and with the new ones. */
function waitingFor({ parked }: ReplayState, lost: readonly AskedQuestion[], asked: readonly string[]): WaitingFor {
  const before = parked?.event.type === "run_waiting" ? parked.event.data : { questions: [], batches: [], waits: [] }
  const { questions, batches, waits, budget } = before as WaitingFor
  const withdrawn = new Set(lost.map(({ id }) => id))
  return {
    questions: [...questions.filter((id) => !withdrawn.has(id)), ...asked],
    batches,
    waits,
    ...(budget !== undefined && { budget }),
  }
}
