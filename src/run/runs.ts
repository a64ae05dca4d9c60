import { sourceLength } from "../source/source-files.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { AdmissionRules } from "./admission-rules.ts"
import { RunTakeover, type ClaimingProcess, type PlanOf } from "./take-over-runs.ts"
import { failRunAsCorrupt } from "./fail-run-as-corrupt.ts"
import { Deadlines } from "./budget/deadlines.ts"
import { refuseTime } from "./budget/run-time.ts"
import type { LogEvent, WireError } from "../log/events.ts"
import { isTerminal } from "../log/events.ts"
import { LeaseKeeper } from "./log/lease-keeper.ts"
import { instant } from "../ports/clock.ts"
import type { NewRun, RunRequest, RunStatus, RunStore } from "../ports/store.ts"
import { Damaged, firstFence, isStoreTrouble, StoreFailure } from "../ports/store.ts"
import { moveRun, type MoveJob, type MoveResult } from "./move-run.ts"
import { run } from "./run.ts"
import type { HeldRun, RunJob } from "./run-job.ts"
import { endWithoutRunning } from "./end-without-running.ts"
import type { RunLimits, RunPorts } from "./context/run-context.ts"
import { memoryOf } from "../base/memory-of.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import { Suspects } from "./suspects.ts"
import { MemoryShare, type MemoryBounds, type RunMemory } from "./shares/memory-share.ts"
import { StoredShare, type StoredRun } from "./shares/stored-share.ts"
import { readRecord, readStatus, type RunRecord } from "./run-record.ts"
import { maxOfTenant, OwnRunSlots, type RunSlotLimits, type RunSlots } from "./run-slots.ts"
import { announceTaken } from "./context/taken-run.ts"
import { withTrace } from "./context/with-trace.ts"
import { inputOf } from "./values/input-of.ts"
import type { BudgetAdmission, RunClaim } from "./budget/budgets.ts"
import { wireError } from "../ports/run-failure.ts"
import { takeFiles, takesFiles } from "./files/take-files.ts"
import { unmetBy, unpriced, validateRequest } from "./validate-request.ts"
import { exposedByRequest, secretsOfRun } from "./secrets/secrets-of-run.ts"
import type { LightSignal } from "../base/light-signal.ts"

export interface RunsSettings {
  /** Names this process among those that share a store. */
  readonly owner: string
  readonly leaseMs: number
  /** The store ends with this process: what is not done by then is lost. */
  readonly isVolatile?: boolean
  /** Most runs at once, and most that wait for their turn. */
  readonly maxRuns: number
  readonly maxQueued: number
  /** Most runs at once of one caller, who also gets the same share of those that wait. All of `maxRuns` unless set. */
  readonly maxRunsPerCaller?: number
  /** Most runs of one caller that wait for people; 10,000 unless set. */
  readonly maxWaiting?: number
  /** Most bytes of the store that the runs of one caller take, as of now: a disk may get more room. No limit unless set. */
  readonly storedPerCaller?: () => number
  readonly limits: RunLimits
  /** What all runs may keep together; no bounds unless set. */
  readonly memory?: MemoryBounds
  /** Where the places are those of several processes. */
  readonly places?: (limits: RunSlotLimits) => RunSlots
}

export type Admission =
  | { readonly outcome: "created" | "exists" | "conflict"; readonly run_id: string }
  /** At capacity, draining, or over the caller's share. */
  | { readonly outcome: "refused"; readonly error: WireError }

export type NewRequest = Omit<NewRun, "run_id" | "created_at">

interface Job extends RunJob, HeldRun {
  /** About what its request takes in memory. */
  readonly bytes: number
  /** When this process took it, on the monotonic clock. */
  readonly takenAt: number
  readonly memory: RunMemory
  readonly stored: StoredRun
  /** Callers who wait for its end: each is told once, also when the store keeps it from ending for long. */
  readonly waiters: Set<(end: JobEnd) => void>
}

/** The event that the run ended or began to wait with; null where it goes on elsewhere; a failure where the store would not take its events. */
type JobEnd = LogEvent | StoreFailure | null

interface Queued {
  readonly job: Job
  readonly stopListening: () => void
}

/** The runs that this process works on: admits, queues, takes up interrupted ones, gives them back. */
export class Runs {
  readonly #ports: RunPorts
  readonly #settings: RunsSettings
  readonly #keeper: LeaseKeeper
  readonly #takeover: RunTakeover
  readonly #deadlines: Deadlines
  readonly #suspects: Suspects
  /** By run id: those that run or wait here. */
  readonly #jobs = new Map<string, Job>()
  /** By run id: those that wait for their turn. */
  readonly #waiting = new Map<string, Queued>()
  readonly #places: RunSlots
  readonly #rules: AdmissionRules
  readonly #memory: MemoryShare
  readonly #stored: StoredShare
  readonly #active = new Map<Job, Promise<void>>()
  readonly #stop = new AbortController()
  #draining = false
  readonly #left = new AbortController()

  constructor(ports: RunPorts, planOf: PlanOf, settings: RunsSettings) {
    this.#ports = ports
    this.#settings = settings
    this.#memory = new MemoryShare(settings.memory)
    this.#stored = new StoredShare(ports.store, ports.clock, settings.storedPerCaller)
    this.#deadlines = new Deadlines(ports.clock)
    this.#suspects = new Suspects(ports.clock, ports.random)
    this.#keeper = new LeaseKeeper(ports.store, ports.clock, settings.leaseMs)
    const { owner, leaseMs, maxRuns, maxQueued, maxRunsPerCaller = maxRuns } = settings
    const places = { maxRuns, maxQueued, perTenant: Math.min(maxRuns, maxRunsPerCaller) }
    this.#places = settings.places?.(places) ?? new OwnRunSlots(places)
    this.#rules = new AdmissionRules(ports, {
      places: this.#places,
      maxOfTenant: maxOfTenant(places),
      memory: this.#memory,
      stored: this.#stored,
      maxWaiting: settings.maxWaiting,
      isDraining: () => this.#draining,
    })
    const process: ClaimingProcess = {
      owner,
      leaseMs,
      free: () => this.#places.free(),
      room: () => maxRuns + maxQueued - this.#jobs.size,
      has: (run_id) => this.#jobs.has(run_id),
      take: (run) => {
        this.#places.takeUp(run.share)
        this.#take(run, requestBytes(run.request))
      },
      startNext: () => this.#startNext(),
    }
    this.#takeover = new RunTakeover(process, ports, planOf, this.#keeper, this.#stop.signal)
  }

  get active(): number {
    return this.#active.size
  }

  get isDraining(): boolean {
    return this.#draining
  }

  /** Whether runs that have not ended when this process stops go on later. */
  get areKept(): boolean {
    return this.#settings.isVolatile !== true
  }

  /** Aborts when the grace time is over: no run begins here any more, and the service closes its connections. */
  get left(): AbortSignal {
    return this.#left.signal
  }

  get queued(): number {
    return this.#waiting.size
  }

  /**
   * Stores the run and starts it, or has it wait for its turn. The plan is that of the request's source. The share says who
   * is treated alike: the caller, unless the caller has no name.
   */
  async admit(plan: Plan, given: NewRequest, share = given.caller): Promise<Admission> {
    // What a run's record shows is the input that counted. The key of a request was made of what was sent.
    const input = inputOf(plan, given.request.input)
    const asked = input === given.request.input ? given : { ...given, request: { ...given.request, input } }
    const taken = takesFiles(plan) ? await this.#takeFiles(plan, asked) : asked
    if ("outcome" in taken) return taken
    const isScored = plan.scores !== undefined && given.request.workflow?.release !== "shadow"
    const isPrivate = plan.content !== undefined
    const request =
      isScored || isPrivate
        ? { ...taken, ...(isScored && { scored: true as const }), ...(isPrivate && { private: true as const }) }
        : taken
    const { clock, random, store } = this.#ports
    const { owner, leaseMs } = this.#settings
    const { caller, idempotency } = request
    const bytes = requestBytes(request.request)
    const turn = loopTurns.forLarge(bytes)
    if (turn !== null) await turn
    const entering = this.#rules.enter({ plan, caller, share, bytes })
    // To await a value that is here already makes promises: test/run-cost counts them.
    let refusal = entering instanceof Promise ? await entering : entering
    const within = refusal === null ? this.#withinBudgets(plan, request, share) : null
    const budgeted = within === null ? null : await within
    if (budgeted !== null && "refused" in budgeted) refusal = budgeted.refused
    const claim = budgeted !== null && "claim" in budgeted ? budgeted.claim : null
    if (refusal !== null) {
      // A request that repeats an existing run needs no room.
      const existing = idempotency === null ? null : await store.existing(caller, idempotency)
      return existing ?? { outcome: "refused", error: refusal }
    }
    const refers = (request.files ?? []).length > 0
    const begin = request.idempotency === null && !refers ? store.begin?.bind(store) : undefined
    if (begin !== undefined) return this.#begin(begin, plan, { ...request, idempotency: null }, share, bytes, claim)
    let isTaken = false
    try {
      const run_id = random.id()
      const askedAt = instant(clock)
      const created_at = clock.now()
      const asked = withTrace(this.#ports, run_id, request.request)
      const created = await store.create({ ...request, request: asked, run_id, created_at }, owner, leaseMs)
      if (created.outcome === "file gone") return { outcome: "refused", error: fileGone(created.file_id) }
      if (created.outcome !== "created") return created
      claim?.stored()
      if (this.left.aborted) {
        // The store took its time, and meanwhile all runs were left: this one is another process's, too.
        await store.release(created.lease).catch(() => undefined)
        return { outcome: "created", run_id }
      }
      announceTaken(this.#ports, run_id, request.caller, asked, false)
      const held = this.#keeper.hold(created.lease, askedAt)
      this.#take({ held, plan, request: asked, caller, share, created_at, resumed: null }, bytes)
      isTaken = true
      return { outcome: "created", run_id }
    } finally {
      if (!isTaken) this.#places.abandon(share)
      claim?.release()
    }
  }

  /** Stores the files of the input that are not stored yet. A request that repeats an existing run needs none of them. */
  async #takeFiles(plan: Plan, given: NewRequest): Promise<NewRequest | Exclude<Admission, { outcome: "created" }>> {
    const { caller, request, idempotency } = given
    const existing = idempotency === null ? null : await this.#ports.store.existing(caller, idempotency)
    if (existing !== null) return existing
    const giver = { caller, isWebhook: request.trigger !== undefined && "webhook" in request.trigger }
    const taken = await takeFiles(this.#ports.files?.files ?? null, plan, request.input, giver)
    if ("refused" in taken) return { outcome: "refused", error: taken.refused }
    const unmet = taken.isWhole ? unmetBy(plan, taken.input) : null
    if (unmet !== null) return { outcome: "refused", error: unmet }
    return { ...given, request: { ...request, input: taken.input }, files: taken.files }
  }

  /** Whether budgets allow the run, which has its place; null where there are none for it. */
  #withinBudgets(plan: Plan, { caller, request }: NewRequest, share: string): Promise<BudgetAdmission> | null {
    const { budgets, prices } = this.#ports
    const workflow = request.workflow?.name ?? null
    const admitted = budgets?.admit(caller, workflow) ?? null
    if (budgets === undefined || admitted === null) return null
    const costs = budgets.limitsCost(caller, workflow)
    const [first, ...rest] = costs === null ? [] : unpriced(plan, costs.path, prices, workflow === null)
    const unknown = first === undefined ? null : wireError("input_error", [first, ...rest])
    const judged = admitted.then((one) => {
      if (unknown === null) return one
      if ("claim" in one) one.claim.release()
      return { refused: unknown }
    })
    return judged.then(
      (one) => {
        if ("refused" in one) this.#places.abandon(share)
        return one
      },
      (error: unknown) => {
        this.#places.abandon(share)
        throw error
      },
    )
  }

  /** The run starts while it is being stored; the first call that leaves this process waits until it is. */
  async #begin(
    begin: NonNullable<RunStore["begin"]>,
    plan: Plan,
    request: NewRequest & { readonly idempotency: null },
    share: string,
    bytes: number,
    claim: RunClaim | null,
  ): Promise<Admission> {
    const { clock, random } = this.#ports
    const { owner, leaseMs } = this.#settings
    const { caller } = request
    const run_id = random.id()
    const asked = withTrace(this.#ports, run_id, request.request)
    const askedAt = instant(clock)
    const created_at = clock.now()
    const lease = { run_id, owner, fence: firstFence }
    const stored = begin({ ...request, request: asked, run_id, created_at }, lease, leaseMs)
    announceTaken(this.#ports, run_id, caller, asked, false)
    const held = this.#keeper.hold(lease, askedAt, stored)
    this.#take({ held, plan, request: asked, caller, share, created_at, resumed: null }, bytes)
    try {
      await stored
      claim?.stored()
    } catch (error) {
      // One that runs stops by itself: its lease is gone.
      claim?.release()
      await this.#giveBack(run_id)
      throw error
    }
    return { outcome: "created", run_id }
  }

  /**
   * The parts of a request that do not fit the workflow's blocks, with the server's own secrets where it may have them, or that would
   * send one of these to a place of the caller's choice.
   */
  validate(plan: Plan, request: RunRequest): WireError | null {
    const { serverSecrets, prices } = this.#ports
    const { input, options } = request
    return (
      exposedByRequest(plan, request, serverSecrets) ??
      refuseTime(plan, options, this.#settings.limits.maxRunMs) ??
      validateRequest(plan, input, secretsOfRun(plan, request, serverSecrets), options.limits ?? null, prices)
    )
  }

  /** Moves a run that waits to another version of its workflow, or says what a move would do. */
  move(job: MoveJob): Promise<MoveResult> {
    const { owner, leaseMs, limits } = this.#settings
    return moveRun(job, { ports: this.#ports, limits, deadlines: this.#deadlines, owner, leaseMs })
  }

  /** Takes up runs that no process works on: now, and regularly, because a process that shares the store may die. */
  recover(): Promise<void> {
    return this.#takeover.start()
  }

  /** A process that shares the store has died: what it left is looked for at once. */
  recoverNow(): void {
    this.#takeover.othersDied()
  }

  /** False when the run has ended or does not exist. */
  async cancel(run_id: string): Promise<boolean> {
    const requested = await this.#ports.store.requestCancel(run_id)
    if (requested) this.#cancelWaiting(run_id)
    return requested
  }

  /** The client that waited for a run has closed its connection, which cancels the run. False where the service may have closed it. */
  async clientLeft(run_id: string): Promise<boolean> {
    return !this.left.aborted && (await this.cancel(run_id))
  }

  #cancelWaiting(run_id: string): void {
    const waiting = this.#unqueue(run_id)
    if (waiting === undefined) return
    this.#places.beginAnyway(waiting.share)
    this.#start(waiting, () => endWithoutRunning(waiting, { why: "cancelled" }, this.#ports))
  }

  /**
   * The event that a run ends with, or begins to wait for people with, wherever it runs; null when nobody waits for it any more, this process stops, or retention
   * deletes the run before that.
   * Rejects with a `StoreFailure` when the store fails.
   */
  ending(run_id: string, gone: LightSignal): Promise<LogEvent | null> {
    const job = this.#jobs.get(run_id)
    return job === undefined
      ? this.#endingElsewhere(run_id, gone)
      : endOf(job, gone, (end) => this.#unended(run_id, gone, end))
  }

  /** The end of a run that did not come here, for whatever reason. */
  async #unended(run_id: string, gone: LightSignal, failed: StoreFailure | null): Promise<LogEvent | null> {
    // Nobody knows when the store works again: to wait for it may be to wait for ever.
    if (failed !== null) throw failed
    if (gone.isGiven || this.#draining) return null
    // The lease ran out because the store could not be written to: no process has the run.
    const trouble = this.#ports.trouble?.() ?? null
    if (trouble !== null) throw new StoreFailure(trouble)
    // Another process has it, or will have it.
    return this.#endingElsewhere(run_id, gone)
  }

  async #endingElsewhere(run_id: string, gone: LightSignal): Promise<LogEvent | null> {
    const stop = new AbortController()
    const stopListening = gone.listen(() => stop.abort())
    if (gone.isGiven) stop.abort()
    try {
      return await this.#followToEnd(run_id, stop.signal)
    } finally {
      stopListening()
    }
  }

  async #followToEnd(run_id: string, signal: AbortSignal): Promise<LogEvent | null> {
    const found = await this.#ports.store.lookup(run_id)
    if (found.found !== "run") return null
    const { last_event_id, finished_at } = found.run
    const after = finished_at === null ? last_event_id : last_event_id - 1
    // What has ended can be answered while this process stops.
    const stop = finished_at === null ? AbortSignal.any([signal, this.#stop.signal]) : signal
    if (found.run.waiting) {
      const [last] = await this.#ports.store.read(run_id, last_event_id - 1, 1)
      if (last?.type === "run_waiting" && !(await this.#isAnswered(run_id))) return last
    }
    for await (const event of this.#ports.store.follow(run_id, after, stop)) {
      if (isTerminal(event.type)) return event
      if (event.type === "run_waiting" && !(await this.#isAnswered(run_id))) return event
    }
    return null
  }

  /** Whether an answer is stored that the log of the run does not show yet: a parked run goes on with it. */
  async #isAnswered(run_id: string): Promise<boolean> {
    return (await this.#ports.store.waits.outcomes(run_id)).length > 0
  }

  /** Everything that is known of a run; null when it does not exist (any more). */
  record(run_id: string): Promise<RunRecord | null> {
    return readRecord(this.#ports.store, run_id)
  }

  /** A run's status without its whole log; null when there is no such run (any more). */
  status(run_id: string): Promise<RunStatus | null> {
    return readStatus(this.#ports.store, run_id)
  }

  /** No new runs from here on. Those that run get the grace time, then all are left to be resumed. */
  async drain(graceMs: number): Promise<void> {
    const { clock } = this.#ports
    this.#draining = true
    this.#stop.abort(new Error("The service is shutting down"))
    await this.#takeover.stopped()
    await Promise.all([...this.#waiting.keys()].map((run_id) => this.#giveBack(run_id)))
    const done = new AbortController()
    await Promise.race([
      Promise.all(this.#active.values()).then(() => done.abort(new Error("All runs have ended"))),
      clock.sleep(graceMs, done.signal).catch(() => undefined),
    ])
    this.#left.abort(new Error("The service has left its runs"))
    this.#keeper.leaveAll()
    await Promise.all(this.#active.values())
    this.#deadlines.close()
    await this.#keeper.close()
  }

  /** One that waits here, at once: another process may have room for it. */
  async #giveBack(run_id: string): Promise<void> {
    const job = this.#unqueue(run_id)
    if (job !== undefined) await this.#finish(job, async () => null)
  }

  /** The run has entered. */
  #take(run: HeldRun, bytes: number): void {
    const memory = this.#memory.open(run.share)
    // A run that is taken up again may be too much: it ends with the first value that it keeps.
    memory.add(bytes)
    const stored = this.#stored.open(run.caller)
    // A run that is taken up again was counted before.
    if (run.resumed === null) stored.add(bytes, () => undefined)
    const takenAt = this.#ports.clock.monotonic()
    const waiters: Job["waiters"] = new Set()
    const stalled = (error: StoreFailure): void => {
      for (const waiter of waiters) waiter(error)
    }
    const lent = { deadlines: this.#deadlines, suspects: this.#suspects, memory, stored, stalled }
    const job: Job = { ...run, ...lent, bytes, takenAt, waiters }
    this.#jobs.set(job.held.lease.run_id, job)
    if (this.#places.begin(job.share)) this.#start(job, () => this.#runJob(job))
    else this.#enqueue(job)
  }

  #enqueue(job: Job): void {
    const { run_id } = job.held.lease
    // A cancel may come by way of another process.
    const stopListening = this.#ports.store.onCancel(run_id, () => this.#cancelWaiting(run_id))
    this.#waiting.set(run_id, { job, stopListening })
    // Runs that people have answered come before all others.
    this.#places.wait(run_id, job.share, job.resumed?.woken === true, () => {
      this.#waiting.delete(run_id)
      stopListening()
      this.#start(job, () => this.#runJob(job))
    })
  }

  #unqueue(run_id: string): Job | undefined {
    const waiting = this.#waiting.get(run_id)
    if (waiting === undefined) return undefined
    this.#waiting.delete(run_id)
    this.#places.unwait(run_id)
    waiting.stopListening()
    return waiting.job
  }

  /** The run has begun. */
  #start(job: Job, work: () => Promise<LogEvent | null>): void {
    this.#active.set(job, this.#finish(job, work))
  }

  #startNext(): void {
    if (this.#draining || this.#places.free() <= 0) return
    if (this.#takeover.claimWoken()) return
    if (!this.#places.next()) this.#takeover.claimMore()
  }

  /** A run that cannot be brought to its end here (the store failed, a bug) is given back, to be taken up again. */
  async #finish(job: Job, work: () => Promise<LogEvent | null>): Promise<void> {
    let end: LogEvent | null = null
    let damage: Damaged | null = null
    let failure: StoreFailure | null = null
    try {
      end = await work()
      if (end === null && !this.#draining) this.#note(job, "The run is left to another process: its lease is lost")
    } catch (error) {
      if (error instanceof Damaged) damage = error
      else if (error instanceof StoreFailure) {
        if (isStoreTrouble(error)) failure = error
        this.#note(job, `The run is given back: ${error.message}`)
      } else this.#ports.bug(error)
    }
    try {
      if (damage !== null) end = await failRunAsCorrupt(job.held.lease, damage, this.#ports)
      if (end === null) await this.#ports.store.release(job.held.lease)
    } catch (error) {
      if (!(error instanceof StoreFailure)) this.#ports.bug(error)
    }
    this.#over(job, end, failure)
    if (!this.#active.delete(job)) return
    this.#places.end(job.share)
    this.#startNext()
  }

  #note(job: Job, sentence: string): void {
    this.#ports.note?.(job.held.lease.run_id, sentence, "info")
  }

  #over(job: Job, end: LogEvent | null, failure: StoreFailure | null): void {
    this.#keeper.drop(job.held)
    const { run_id } = job.held.lease
    this.#jobs.delete(run_id)
    this.#places.leave(job.share)
    job.memory.close()
    job.stored.close()
    for (const waiter of job.waiters) waiter(end ?? failure)
    this.#takeover.left(run_id, end?.type === "run_waiting")
  }

  #runJob(job: Job): Promise<LogEvent | null> {
    // Storing a large request was work enough for one turn.
    const turn = loopTurns.forLarge(job.bytes)
    return turn === null ? this.#runNow(job) : turn.then(() => this.#runNow(job))
  }

  #runNow(job: Job): Promise<LogEvent | null> {
    const { run_id } = job.held.lease
    this.#ports.started?.(run_id, this.#ports.clock.monotonic() - job.takenAt)
    return run(job, this.#ports, this.#settings.limits)
  }
}

/** About what a request takes in memory for as long as its run is here. */
/** Somebody deleted it between the look at the input and the admission. */
function fileGone(file_id: string): WireError {
  return wireError("input_error", [{ path: "input", message: `There is no file ${file_id} any more` }])
}

function requestBytes(request: RunRequest): number {
  return memoryOf(request.input) + sourceLength(request)
}

/** The event that a job ends with. `unended` says what comes of it where there is none: nobody waits for it any more, the store fails, the run goes on elsewhere. */
function endOf(
  { waiters }: Job,
  gone: LightSignal,
  unended: (failed: StoreFailure | null) => Promise<LogEvent | null>,
): Promise<LogEvent | null> {
  if (gone.isGiven) return Promise.resolve(null)
  return new Promise((resolve) => {
    const settle = (end: JobEnd): void => {
      waiters.delete(settle)
      stopListening()
      resolve(end === null || end instanceof StoreFailure ? unended(end) : end)
    }
    const stopListening = gone.listen(() => settle(null))
    waiters.add(settle)
  })
}
