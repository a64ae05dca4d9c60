import { nextTurn } from "../event-loop/in-turns.ts"
import type { JsonObject } from "../base/json-value.ts"
import { Budget } from "./budget/budget.ts"
import { limitsOfRun } from "./budget/limit-scopes.ts"
import { allowedMs } from "./budget/run-time.ts"
import { TimeLimits } from "./budget/time-limits.ts"
import type { Alarm, ReplayData } from "../log/replay-data.ts"
import { RequestKeeper } from "./context/requests.ts"
import type { InterruptedStep, LogEvent, WaitingFor, WireError, ShownRunLimits } from "../log/events.ts"
import { endWithoutRunning, storeEnd, type RunStop } from "./end-without-running.ts"
import { EvaluationWork } from "./values/evaluation-work.ts"
import { MemoryShare } from "./shares/memory-share.ts"
import { thisWriter, whyNotResumable } from "../log/log-version.ts"
import { RunLog } from "./log/log.ts"
import { RunLedger } from "./log/run-ledger.ts"
import { Permits } from "./shares/permits.ts"
import { Questions } from "./questions/ask-and-wait.ts"
import { continueFromWait } from "./waiting/take-outcomes.ts"
import { cancelBatches } from "./batches/cancel-batches.ts"
import { stillWaiting } from "./batches/still-waiting.ts"
import { OpenWaits } from "./waiting/open-waits.ts"
import { LeaseLost, StoreFailure } from "../ports/store.ts"
import { RunFailure, failure, wireError } from "../ports/run-failure.ts"
import { fetchInputs } from "./context/fetch-inputs.ts"
import { takesFiles } from "./files/take-files.ts"
import { unmetBy, validateRequest } from "./validate-request.ts"
import { ShownContent } from "./content/shown-content.ts"
import { redactor, SharedSearches } from "./secrets/redact.ts"
import { secretsOfRun } from "./secrets/secrets-of-run.ts"
import { idleUntil, isWaiting, noReplayState, type ReplayState } from "../log/replay-state.ts"
import { readEarlier, readReplayState } from "./log/read-past.ts"
import type { EarlierRun } from "../log/earlier-run.ts"
import { runClock } from "./run-clock.ts"
import type { RunContext, RunLimits, RunPorts, SharedContext } from "./context/run-context.ts"
import { closeHost, openContext } from "./context/run-context.ts"
import { runValues } from "./context/run-values.ts"
import type { Resumption, RunJob } from "./run-job.ts"
import type { PlanNode } from "../plan/plan-shape.ts"
import { runPlan } from "./run-plan.ts"
import { sizeOf } from "./values/value-size.ts"
import type { Spent } from "../log/usage.ts"
import { addSpent, pricesOf, showSpent, spentBy } from "../log/usage.ts"
import { codeLogLength, runDeathsAlone } from "../base/limits.ts"
import { aloneMs, type SuspectTurn } from "./suspects.ts"

/**
 * Runs a plan to its end. Everything that happens is appended to the run's log; the terminal event comes last, when no call
 * of the run is open any more. A run that has a log already continues from it. Resolves to the terminal event, or to null when
 * the run was left to another process. Rejects only with a `StoreFailure`: then the process that claims the run next continues
 * from its log.
 */
export function run(job: RunJob, ports: RunPorts, limits: RunLimits): Promise<LogEvent | null> {
  const { rerun } = job.request
  if (job.held.leave.isGiven) return Promise.resolve(null)
  // Most runs are new and have nothing to read first: no promise is made for that.
  if (job.resumed === null && rerun === undefined) return runFrom(noReplayState, null, job, ports, limits)
  return takeUp(job, ports, limits)
}

async function takeUp(job: RunJob, ports: RunPorts, limits: RunLimits): Promise<LogEvent | null> {
  const { rerun } = job.request
  const past =
    job.resumed === null ? noReplayState : await readReplayState(ports.store, job.held.lease.run_id, pricesOf(job.plan))
  if (past.ended) return null
  const message = whyNotResumable(past.writer)
  if (message !== null) {
    const error = wireError("internal_error", [{ path: "", message }])
    return endWithoutRunning(job, { why: "failed", error }, ports)
  }
  const suspected = await turnOfSuspect(past, job, ports)
  if (suspected === "left") return null
  if (suspected !== null && "why" in suspected) return endWithoutRunning(job, suspected, ports)
  try {
    const earlier = rerun === undefined ? null : await readEarlier(ports.store, rerun)
    return await runFrom(past, earlier, suspected === null ? job : { ...job, suspected }, ports, limits)
  } finally {
    suspected?.end()
  }
}

/**
 * Resolves when a run that may have killed its process may begin; null for one that has not. A run whose process died each time that it
 * ran alone is ended, or it would take down one process after the other.
 */
async function turnOfSuspect(
  past: ReplayState,
  { resumed, suspects, held }: RunJob,
  { store }: RunPorts,
): Promise<SuspectTurn | RunStop | "left" | null> {
  if (resumed === null || isWaiting(past) || past.vainResumes === 0) return null
  const deaths = past.deathsAlone + (past.runsAlone && !resumed.given_back ? 1 : 0)
  if (deaths >= runDeathsAlone) {
    const message = `The run was resumed alone ${deaths} times without progress, and each time its process died within ${aloneMs / 1000} s`
    return { why: "failed", error: wireError("limit_exceeded", [{ path: "", message }]) }
  }
  if (suspects === undefined) return null
  const stop = new AbortController()
  let why: RunStop | "left" = "left"
  const { leave, lease } = held
  const stopLeaving = leave.listen(() => stop.abort())
  const stopListening = store.onCancel(lease.run_id, () => {
    why = { why: "cancelled" }
    stop.abort()
  })
  if (leave.isGiven) stop.abort()
  try {
    return await suspects.turn(deaths, stop.signal)
  } catch (error) {
    if (!stop.signal.aborted) throw error
    return why
  } finally {
    stopLeaving()
    stopListening()
  }
}

function runFrom(
  past: ReplayState,
  earlier: EarlierRun | null,
  job: RunJob,
  ports: RunPorts,
  limits: RunLimits,
): Promise<LogEvent | null> {
  const { plan, request } = job
  const secrets = secretsOfRun(plan, request, ports.serverSecrets)
  if (secrets !== request.secrets) {
    const own = Object.keys(secrets).filter((name) => !Object.hasOwn(request.secrets, name))
    const { workflow = null } = request
    if (own.length > 0) ports.secretsRead?.({ run_id: job.held.lease.run_id, caller: job.caller, workflow }, own)
  }
  // A secret of the server may have been removed since the run was admitted.
  const misfit = request.workflow === undefined ? null : validateRequest(plan, request.input, secrets)
  if (misfit !== null) return endWithoutRunning(job, { why: "failed", error: misfit }, ports)
  const given = secrets === request.secrets ? job : { ...job, request: { ...request, secrets } }
  return new Run(given, ports, limits, past, earlier).toEnd()
}

/** What a run would do in another version of its workflow. */
export interface Rehearsed {
  /** Ids of the nodes that were held back, and could begin. */
  readonly held: readonly string[]
  /** It would fail with this. */
  readonly failed: WireError | null
}

/** Finds out what a run that waits would ask in the version of the job. Its events go to the job's store, which must be none that keeps them. */
export function rehearse(
  job: RunJob,
  ports: RunPorts,
  limits: RunLimits,
  past: ReplayState,
  holds: (node: PlanNode) => boolean,
): Promise<Rehearsed> {
  const secrets = secretsOfRun(job.plan, job.request, ports.serverSecrets)
  const request = { ...job.request, secrets }
  const rehearsing = { ...past, hasMoved: true }
  return new Run({ ...job, request, resumed: null }, ports, limits, rehearsing, null).rehearse(holds)
}

/** Why a run stops in this process. */
type Stop =
  | RunStop
  | { readonly why: "left" }
  | { readonly why: "store"; readonly error: StoreFailure }
  /** All of it waits, and its store has parked it. */
  | { readonly why: "waiting"; readonly event: LogEvent }

class Run {
  readonly #job: RunJob
  readonly #running: RunContext
  readonly #log: RunLog
  readonly #startedAt: number
  readonly #abort = new AbortController()
  #stop: Stop | null = null
  #result: JsonObject = {}

  constructor(job: RunJob, givenPorts: RunPorts, limits: RunLimits, past: ReplayState, earlier: EarlierRun | null) {
    const { plan, request, caller } = job
    const { lease, gate } = job.held
    const ports = { ...givenPorts, clock: runClock(givenPorts.clock, past.lastAt ?? job.created_at) }
    const { signal } = this.#abort
    const maxConcurrency = Math.max(1, request.options.max_concurrency ?? limits.max_concurrency)
    const bounds = limitsOfRun(plan, request.options.limits ?? null)
    const fail = (error: unknown): void => this.#fail(error)
    const ledger = new RunLedger(past.ledger)
    const log = new RunLog(ports.store, lease, ports.clock, past.lastId, fail, {
      most: limits.logBytes,
      before: past.logBytes,
      patienceMs: limits.storePatienceMs,
      stored: job.stored,
      stalled: job.stalled,
      ledger,
      ...(job.suspected && { progressed: () => job.suspected?.end() }),
    })
    const redaction = redactor(request.secrets, searches)
    const memory = job.memory ?? new MemoryShare().open(caller)
    const startedAt = past.startedAt ?? ports.clock.now()
    const waits = new OpenWaits({
      runId: lease.run_id,
      store: ports.store,
      log,
      redactor: redaction,
      clock: ports.clock,
      signal,
      fail,
      quiet: () => this.#quiet(),
      park: (waitingFor, alarms) => this.#park(waitingFor, alarms),
    })
    const shared: SharedContext = {
      runId: lease.run_id,
      caller,
      workflow: request.workflow?.name ?? null,
      options: request.options,
      limits,
      called: { count: past.inside.size },
      maxConcurrency,
      gate,
      redactor: redaction,
      waits,
      questions: new Questions({ runId: lease.run_id, log, clock: ports.clock, random: ports.random, waits }),
      ledger,
      unfinished: new Set(),
      lanes: new Set(),
      requests: limits.requestBytes === 0 ? null : new RequestKeeper(redaction, limits.requestBytes),
      work: new EvaluationWork(limits.valueBytes, limits.keptBytes, () => sizeOf(request.input).bytes, memory),
      arrivals: memory.arrivals(limits.keptBytes),
      codeUse: { leftMs: limits.codeMs, logLeft: codeLogLength },
      busyWork: new Set(),
      rehearses: past.hasMoved && job.resumed === null,
      runPlan,
    }
    const time = new TimeLimits({
      limits: bounds,
      clock: ports.clock,
      deadlines: job.deadlines,
      startedAt,
      idle: idleUntil(past, ports.clock.now()),
      agents: past.agentTimes,
      fail,
    })
    this.#job = job
    this.#log = log
    this.#startedAt = startedAt
    const { redact } = redaction
    this.#running = openContext(shared, {
      content: ShownContent.open({ port: ports.content, run_id: lease.run_id, redact }, plan.content),
      scope: null,
      around: null,
      plan,
      input: request.input,
      secrets: request.secrets,
      ports,
      log,
      permits: new Permits(maxConcurrency, signal),
      signal,
      past,
      earlier,
      run: {},
      budget: new Budget(bounds, past.used, signal),
      time,
      fail,
    })
  }

  /** Goes as far as it gets without any call, and without what is held back; resolves when nothing more happens by itself. */
  async rehearse(holds: (node: PlanNode) => boolean): Promise<Rehearsed> {
    const { past, ports, plan, runId, signal } = this.#running
    this.#running.run = runValues(ports.run ?? { id: runId, started_at: past.startedAt ?? this.#startedAt })
    const held: string[] = []
    const stopped = new Promise<void>((_, reject) => {
      signal.addEventListener("abort", () => reject(stopping), { once: true })
    })
    stopped.catch(() => undefined)
    const working = runPlan(this.#running, (node) => {
      if (!holds(node)) return undefined
      held.push(node.id)
      return stopped
    })
    // Nodes start a few in each turn of the event loop.
    for (let left = plan.nodes.length; left > -50; left -= 25) await nextTurn()
    await Promise.race([working, this.#quiet()])
    const failed = this.#stop?.why === "failed" ? this.#stop.error : null
    this.#end({ why: "left" })
    await working
    this.#running.waits.close()
    this.#running.redactor.close()
    return { held, failed }
  }

  async toEnd(): Promise<LogEvent | null> {
    const { past, permits, ports, prepared, plan, runId } = this.#running
    const log = this.#log
    ports.planned?.(runId, null, plan)
    const { held, resumed } = this.#job
    const stopLeaving = held.leave.listen(() => {
      log.giveUp()
      this.#end({ why: "left" })
    })
    const stopListening = ports.store.onCancel(this.#running.runId, () => this.#end({ why: "cancelled" }))
    const stopWatch = this.#watchTime()
    const stopLimits = this.#running.time.watch()
    try {
      const { rerun, trigger, workflow: { release } = {} } = this.#job.request
      let startedAt = past.startedAt
      if (startedAt === null) {
        const about = {
          ...(rerun && { rerun_of: rerun.run_id }),
          ...(trigger && { trigger }),
          ...(release && { release }),
        }
        startedAt = Date.parse(log.add("workflow_started", about, thisWriter).at)
        // Before anybody sees the time: a run that is resumed must see the same.
        if (prepared.showsRun) await log.stored().catch((error: unknown) => this.#fail(error))
      }
      this.#running.run = runValues(ports.run ?? { id: this.#running.runId, started_at: startedAt })
      // Also where the log is empty: a call may have been made before its first piece was stored. Before all else that this process adds: the
      // time since the last event before it is one in which no process had the run.
      if (isWaiting(past)) {
        const parked = await this.#parkedAgain()
        if (parked !== null) return parked
        await this.#continue()
      } else if (resumed !== null) await this.#resume(resumed)
      if (takesFiles(this.#running.plan)) await this.#fetchInputs()
      if (!past.planned)
        log.add("workflow_planned", { nodes: prepared.planned, ...this.#limits(), ...this.#partials() })
      this.#result = await runPlan(this.#running)
      // Before the end is logged, all calls of the run must be closed, for whatever reason it stops.
      const open = permits.idle()
      if (open !== null) await open
      while (this.#running.backgroundWork.size > 0) await Promise.all(this.#running.backgroundWork)
      this.#job.suspected?.end()
      const { why } = this.#stop ?? {}
      if (why === "failed" || why === "cancelled") await cancelBatches(this.#running)
      return await this.#close()
    } finally {
      stopWatch()
      stopLimits()
      stopListening()
      this.#running.waits.close()
      this.#running.redactor.close()
      this.#running.ledger.leave()
      stopLeaving()
      if (this.#running.host !== null) await closeHost(this.#running)
    }
  }

  async #fetchInputs(): Promise<void> {
    const running = this.#running
    if (running.signal.aborted) return
    try {
      const fetched = await fetchInputs(running)
      if (fetched === running.input) return
      running.input = fetched
      const unmet = unmetBy(running.plan, fetched)
      if (unmet !== null) throw new RunFailure(unmet)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Stored before any work is done: should this process die of the run as well, the next one has to know. */
  async #resume({ reason, given_back }: Resumption): Promise<void> {
    const { log, ports } = this.#running
    const { suspected } = this.#job
    const marks = { ...(given_back && { given_back }), ...(suspected && { alone: true as const }) }
    log.add("run_resumed", { reason }, { ...thisWriter, ...marks })
    await log.stored().catch((error: unknown) => this.#fail(error))
    if (suspected === undefined) return
    ports.clock.sleep(aloneMs, suspected.over).then(
      () => void log.add("run_survived", {}),
      () => undefined,
    )
  }

  /** It was woken to ask about batches, and none of them needs it: it waits on, without an event. */
  async #parkedAgain(): Promise<LogEvent | null> {
    const running = this.#running
    const { past, ports, signal } = running
    // One that has moved may have new steps to do.
    if (past.hasMoved || past.parked?.alarms.some(({ kind }) => kind === "batch") !== true) return null
    try {
      const alarms = await stillWaiting(running)
      if (alarms === null || signal.aborted) return null
      await ports.store.parkAgain(this.#job.held.lease, alarms)
      return past.parked.event
    } catch (error) {
      this.#fail(error)
      return null
    }
  }

  /** What it waited for is there. Stored before any work is done, as for a run after a crash. */
  async #continue(): Promise<void> {
    const { log, past, ports, runId, redactor } = this.#running
    try {
      await continueFromWait(log, ports.store, runId, past, redactor, ports.clock.now())
      await log.stored()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Resolves when nothing of the run can go on by itself. */
  async #quiet(): Promise<void> {
    const { permits, log, work, busyWork, signal } = this.#running
    for (;;) {
      // What one turn of the event loop has settled goes on before the next.
      await nextTurn()
      if (signal.aborted) return
      if (permits.open > 0) await permits.allIdle()
      else if (busyWork.size > 0) await Promise.all(busyWork)
      else if (log.isBehind) await log.stored()
      else if (!work.isResting) return
    }
  }

  /** Everything left waits: the run leaves this process, and the process that sees an outcome resumes it. */
  #park(waitingFor: WaitingFor, alarms: readonly Alarm[]): void {
    const { log, rehearses } = this.#running
    if (rehearses) return
    const event = log.add("run_waiting", waitingFor, alarms.length === 0 ? undefined : { alarms })
    log.stored().then(
      () => this.#end({ why: "waiting", event }),
      (error: unknown) => this.#fail(error),
    )
  }

  /** The first reason to stop counts. It aborts all open work at once. */
  #end(stop: Stop): void {
    // When the log cannot be written any more, no other reason can be logged.
    if (this.#stop !== null && stop.why !== "left" && stop.why !== "store") return
    // Parking a run ends its lease.
    if (this.#stop?.why === "waiting") return
    this.#stop = stop
    if (!this.#abort.signal.aborted) this.#abort.abort(stopping)
  }

  #fail(error: unknown): void {
    if (error instanceof LeaseLost) this.#end({ why: "left" })
    else if (error instanceof StoreFailure) this.#end({ why: "store", error })
    else if (this.#stop !== null) return
    else if (error instanceof RunFailure) this.#end({ why: "failed", error: error.error })
    else {
      const { ports } = this.#running
      const shortage = ports.shortage?.() ?? null
      if (shortage === null) ports.bug(error)
      const found = shortage === null ? internalError : wireError("overloaded", [{ path: "", message: shortage }])
      this.#end({ why: "failed", error: found })
    }
  }

  /** A resumed run whose time is used up does not begin again. */
  #watchTime(): () => void {
    const { plan, options, limits, time } = this.#running
    const allowed = allowedMs(plan, options, limits)
    if (allowed === null) return () => undefined
    return this.#job.deadlines.add(allowed - time.elapsed(null) * 1000, () => {
      this.#fail(failure("timeout", "", `The run took longer than ${allowed} ms`))
    })
  }

  /** Used by all calls, including those of steps that the end of the run interrupted. */
  #spent(): Spent {
    const { plan, spent, unfinished } = this.#running
    const prices = pricesOf(plan)
    return [...unfinished].reduce((sum, unfinishedStep) => {
      const { calls, scope } = unfinishedStep().step
      return addSpent(sum, spentBy(calls, prices, scope))
    }, spent)
  }

  #interrupted(): { readonly interrupted?: readonly InterruptedStep[] } {
    const steps = [...this.#running.unfinished].map((unfinished) => unfinished().step)
    const interrupted = steps.filter(({ calls }) => calls.length > 0).slice(0, maxInterrupted)
    return interrupted.length === 0 ? {} : { interrupted }
  }

  /** The requests of steps and tool calls that the end interrupts. */
  #requests(): ReplayData<"workflow_cancelled"> | undefined {
    const { unfinished, requests: keeper } = this.#running
    const ofSteps = [...unfinished].slice(0, maxInterrupted).flatMap((step) => step().sent)
    const requests = keeper?.keep([...ofSteps, ...keeper.unended().slice(0, maxInterrupted)])
    return requests === undefined ? undefined : { requests }
  }

  #limits(): { readonly limits?: ShownRunLimits } {
    const { budget, time } = this.#running
    return budget.limited ? { limits: budget.shown((agent) => time.elapsed(agent)) } : {}
  }

  #partials(): { readonly partials?: true } {
    return this.#job.request.options.partials === true ? { partials: true } : {}
  }

  #close(): LogEvent | Promise<LogEvent | null> {
    const { ports } = this.#running
    const log = this.#log
    const spentNow = { usage: showSpent(this.#spent()), ...this.#limits() }
    const stop = this.#stop
    const duration_ms = ports.clock.now() - this.#startedAt
    switch (stop?.why) {
      case undefined:
        return storeEnd(
          log,
          log.add("workflow_completed", {
            output: { result: this.#result },
            ...spentNow,
            ...this.#running.code?.logsOf("output"),
            duration_ms,
          }),
        )
      case "failed":
        return storeEnd(
          log,
          log.add(
            "workflow_failed",
            { error: stop.error, ...spentNow, ...this.#interrupted(), duration_ms },
            this.#requests(),
          ),
        )
      case "cancelled":
        return storeEnd(
          log,
          log.add("workflow_cancelled", { ...spentNow, ...this.#interrupted(), duration_ms }, this.#requests()),
        )
      case "waiting":
        return stop.event
      case "left":
        // Store what has happened, if this process still holds the lease.
        return log.stored().then(
          () => null,
          () => null,
        )
      case "store":
        throw stop.error
    }
  }
}

/** Secret searches of all runs in this process. */
const searches = new SharedSearches()

/** The end of a run names so many steps that it interrupted. */
const maxInterrupted = 100

// Created once: an error captures its stack, which takes time.
const stopping = new Error("The run stops")

const internalError: WireError = wireError("internal_error", [
  { path: "", message: "An internal error stopped the run" },
])
