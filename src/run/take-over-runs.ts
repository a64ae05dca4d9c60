import type { SourceText } from "../source/source-files.ts"
import { hasBatches } from "../plan/may-wait.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { instant } from "../ports/clock.ts"
import { Damaged, StoreFailure } from "../ports/store.ts"
import { failRunAsCorrupt } from "./fail-run-as-corrupt.ts"
import { endWithoutRunning, type RunStop } from "./end-without-running.ts"
import type { WireError } from "../log/events.ts"
import type { HeldLease, LeaseKeeper } from "./log/lease-keeper.ts"
import type { RunPorts } from "./context/run-context.ts"
import type { HeldRun, Resumption } from "./run-job.ts"
import { announceTaken } from "./context/taken-run.ts"
import { finishEvent } from "./waiting/send-event.ts"
import { settleDueWaits } from "./settle-due-waits.ts"

/**
 * The plan of a source, or an error where it is not valid (any more). `share` says whose turn it takes where many large
 * sources wait.
 */
export type PlanOf = (
  source: SourceText,
  share: string,
) => Promise<{ readonly plan: Plan } | { readonly error: WireError }>

/** What taking over has to know of the process that it takes runs for. */
export interface ClaimingProcess {
  readonly owner: string
  readonly leaseMs: number
  /** How many more runs may run here now. */
  free(): number
  /** How many more runs may be here: running or queued. */
  room(): number
  has(run_id: string): boolean
  take(run: HeldRun): void
  /** Starts the next run that may start, if there is one. */
  startNext(): void
}

const restarted = "The process restarted"
const tookOver = "Another process took over"
const continued = "What it waited for is there"

/** Takes up runs that no process works on: interrupted ones, and parked ones that were woken. */
export class RunTakeover {
  readonly #process: ClaimingProcess
  readonly #ports: RunPorts
  readonly #planOf: PlanOf
  readonly #keeper: LeaseKeeper
  /** Aborts when this process takes no more runs. */
  readonly #stop: AbortSignal
  #loops: Promise<void> | null = null
  #stopListening: (() => void) | null = null
  /** The last look found as many runs as it asked for: there may be more. */
  #mayBeMore = false
  /** Parked runs have been woken, and this process may have had no room for them. */
  #woken = false
  /** Runs with a new outcome while they were here: it may have come when they had just been parked. */
  readonly #withNewOutcome = new Set<string>()
  #claiming: Promise<void> | null = null
  #claimAgain = false

  constructor(process: ClaimingProcess, ports: RunPorts, planOf: PlanOf, keeper: LeaseKeeper, stop: AbortSignal) {
    this.#process = process
    this.#ports = ports
    this.#planOf = planOf
    this.#keeper = keeper
    this.#stop = stop
  }

  /** Claims now, and regularly from now on, because a process that shares the store may die. */
  async start(): Promise<void> {
    await this.#tryToClaim(restarted)
    this.#loops ??= Promise.all([this.#claimForEver(), settleDueWaits(this.#duePorts(), this.#stop)]).then(
      () => undefined,
    )
    this.#stopListening ??= this.#ports.store.waits.onOutcome((run_id) => this.#outcomeArrived(run_id))
  }

  #duePorts(): Parameters<typeof settleDueWaits>[0] {
    const { store, serverSecrets } = this.#ports
    const planOf = (source: SourceText): ReturnType<PlanOf> => this.#planOf(source, "")
    const finish = (number: number): Promise<unknown> => finishEvent({ store, serverSecrets, planOf }, number)
    return { ...this.#ports, finishEvent: finish }
  }

  /** Call it after the signal has aborted; resolves when no claim is under way. */
  async stopped(): Promise<void> {
    this.#stopListening?.()
    await Promise.all([this.#loops, this.#claiming])
  }

  /** A run that works here takes its outcomes in by itself; any other one was parked. */
  #outcomeArrived(run_id: string): void {
    if (this.#stop.aborted) return
    if (this.#process.has(run_id)) {
      this.#withNewOutcome.add(run_id)
      return
    }
    this.#woken = true
    if (this.#process.free() > 0) this.#claimSoon(continued)
  }

  /** The run has left this process; `parked` when it waits. */
  left(run_id: string, parked: boolean): void {
    if (this.#withNewOutcome.delete(run_id) && parked) this.#outcomeArrived(run_id)
  }

  /** Claims woken runs, if there may be some. They come before queued runs, also while no process has claimed them. */
  claimWoken(): boolean {
    if (!this.#woken) return false
    this.#claimSoon(continued)
    return true
  }

  /** Processes that share the store have died. */
  othersDied(): void {
    if (!this.#stop.aborted && this.#loops !== null) this.#claimSoon(tookOver)
  }

  /** Claims the rest of the interrupted runs, if there may be some. */
  claimMore(): void {
    if (this.#mayBeMore) this.#claimSoon(restarted)
  }

  #claimSoon(reason: string): void {
    this.#mayBeMore = false
    this.#woken = false
    this.#claimAgain = this.#claiming !== null
    this.#claiming ??= this.#claimNow(reason).finally(() => {
      this.#claiming = null
      for (let free = this.#process.free(); free > 0; free--) this.#process.startNext()
    })
  }

  async #claimNow(reason: string): Promise<void> {
    do {
      this.#claimAgain = false
      await this.#tryToClaim(reason)
    } while (this.#claimAgain)
  }

  async #claimForEver(): Promise<void> {
    for (;;) {
      try {
        await this.#ports.clock.sleep(this.#process.leaseMs / 2, this.#stop)
      } catch {
        return
      }
      await this.#tryToClaim(tookOver)
    }
  }

  async #tryToClaim(reason: string): Promise<void> {
    // A run that is taken up now would call its models again, for answers that cannot be stored.
    if ((this.#ports.trouble?.() ?? null) !== null) return
    try {
      await this.#claim(reason)
    } catch (error) {
      if (!(error instanceof StoreFailure)) this.#ports.bug(error)
    }
  }

  async #claim(reason: string): Promise<void> {
    const { owner, leaseMs } = this.#process
    const { clock, store } = this.#ports
    for (;;) {
      const room = this.#process.room()
      if (this.#stop.aborted || room <= 0) return
      // What cannot run here now is left to other processes, except one run: otherwise new runs could keep interrupted ones
      // waiting for ever. Runs that wait because their caller has its share leave the places free for others.
      const free = this.#process.free()
      const limit = Math.max(1, Math.min(free, room, 50))
      const askedAt = instant(clock)
      const leases = await store.claim(owner, limit, leaseMs)
      this.#mayBeMore = leases.length === limit
      for (const lease of leases) {
        const held = this.#keeper.hold(lease, askedAt)
        try {
          await this.#takeUp(held, { reason, given_back: lease.given_back, woken: lease.woken })
        } catch (error) {
          // A run that cannot be read must not keep the others waiting.
          if (error instanceof Damaged) await failRunAsCorrupt(lease, error, this.#ports)
          else if (!(error instanceof StoreFailure)) this.#ports.bug(error)
          // The run is tried again when its lease has expired.
          this.#keeper.drop(held)
        }
      }
      if (!this.#mayBeMore || free <= 0) return
    }
  }

  async #takeUp(held: HeldLease, resumed: Resumption): Promise<void> {
    const { store } = this.#ports
    const { run_id } = held.lease
    const found = await store.lookup(run_id)
    if (found.found !== "run") throw new StoreFailure(`There is no run ${run_id}`)
    const { caller, created_at, cancel_requested } = found.run
    const request = await store.request(run_id)
    announceTaken(this.#ports, run_id, caller, request, true)
    const compiled = await this.#planOf(request, caller)
    // Its tools are those of a shadow only in the process that began it: nobody else runs it.
    if (request.workflow?.release === "shadow") {
      const plan = "plan" in compiled ? compiled.plan : null
      await endWithoutRunning({ plan, request, held, created_at }, { why: "cancelled" }, this.#ports)
      this.#keeper.drop(held)
      return
    }
    // A batch is cancelled by the run itself, which has the key of its vendor.
    if ("plan" in compiled && (!cancel_requested || hasBatches(compiled.plan))) {
      this.#process.take({ held, request, caller, share: caller, created_at, resumed, plan: compiled.plan })
      return
    }
    // A source that this release refuses cannot run.
    const how: RunStop = "error" in compiled ? { why: "failed", error: compiled.error } : { why: "cancelled" }
    const plan = "plan" in compiled ? compiled.plan : null
    await endWithoutRunning({ plan, request, held, created_at }, how, this.#ports)
    this.#keeper.drop(held)
  }
}
