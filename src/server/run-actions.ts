import { setTimeout as sleep } from "node:timers/promises"
import type { Clock } from "../ports/clock.ts"
import { isErasure, type ActionProgress, type RunAct, type RunsPlan, type StoredAction } from "../ports/run-actions.ts"
import { isStoreTrouble, type RunRow } from "../ports/store.ts"
import { goOnErasing } from "./erase-runs.ts"
import { checkNotify } from "./check-notify.ts"
import { HttpError } from "./http-error.ts"
import type { RouteDependencies } from "./route-dependencies.ts"
import { rerunOf, whyNotServed } from "./routes/rerun.ts"

/** A process that goes on with an action writes more often than that; another one takes over when it does not. */
export const actionLeaseMs = 15_000
/** How often to look for actions of processes that died. */
const lookMs = 5_000
/** Runs between two writes of the progress. What was done after the last of them is done again after a crash, to no effect. */
const slice = 50
/** For how long a run is tried again for which there is no room. */
const noRoomMs = 600_000
const tryAgainMs = 1_000
/** How soon to look again whether open runs have ended. */
const openAgainMs = 1_000

/** How far an action has come. `waits`: it cannot go on before runs have ended. */
interface Step {
  readonly progress: ActionProgress
  readonly isOver: boolean
  readonly waits: boolean
}

type Ports = Pick<
  RouteDependencies,
  "store" | "files" | "runs" | "planOf" | "folder" | "serverSecrets" | "audit" | "notify" | "log" | "countErased"
> & { readonly clock: Pick<Clock, "now"> }

/** Goes on with the actions of this process, and with those of processes that died. */
export class RunActions {
  readonly #ports: Ports
  readonly #working = new Map<string, Promise<void>>()
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | null = null

  constructor(ports: Ports) {
    this.#ports = ports
  }

  start(): void {
    const look = (): void => void this.#takeOver()
    look()
    this.#timer = setInterval(look, lookMs).unref()
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#stop.abort()
    await Promise.all(this.#working.values())
  }

  /** Goes on with an action that is stored. */
  begin(id: string): void {
    if (this.#working.has(id) || this.#stop.signal.aborted) return
    const work = this.#workOn(id)
      .catch((error: unknown) => {
        // Another look goes on with it.
        if (!isStoreTrouble(error)) this.#ports.log.error({ err: error }, "unexpected error")
      })
      .finally(() => this.#working.delete(id))
    this.#working.set(id, work)
  }

  async #takeOver(): Promise<void> {
    const { store, clock, log } = this.#ports
    try {
      for (const id of await store.actions.due(clock.now(), 10)) this.begin(id)
    } catch (error) {
      if (!isStoreTrouble(error)) log.error({ err: error }, "unexpected error")
    }
  }

  async #workOn(id: string): Promise<void> {
    const { store, clock } = this.#ports
    let action = await store.actions.read(id)
    while (action !== null && !action.completed && !this.#stop.signal.aborted) {
      const { progress, isOver, waits } = await this.#goOn(action)
      const holdMs = this.#stop.signal.aborted ? 0 : waits ? openAgainMs : actionLeaseMs
      if (!(await store.actions.advance(id, action.revision, progress, isOver ? null : clock.now() + holdMs))) return
      if (waits) {
        setTimeout(() => this.begin(id), openAgainMs).unref()
        return
      }
      action = { ...action, progress, completed: isOver, revision: action.revision + 1 }
    }
  }

  async #goOn(action: StoredAction): Promise<Step> {
    const until = performance.now() + actionLeaseMs / 5
    const isLate = (): boolean => this.#stop.signal.aborted || performance.now() > until
    if (isErasure(action)) return goOnErasing(this.#ports, action, isLate)
    const plan = action.plan as RunsPlan
    const progress = await this.#goThrough({ ...action, plan })
    return { progress, isOver: progress.next >= plan.run_ids.length, waits: false }
  }

  async #goThrough(action: StoredAction<RunsPlan>): Promise<ActionProgress> {
    const { plan, progress } = action
    let { next, done } = progress
    const failed = [...progress.failed]
    const until = performance.now() + actionLeaseMs / 5
    for (const run_id of plan.run_ids.slice(next, next + slice)) {
      if (this.#stop.signal.aborted || performance.now() > until) break
      const message = await this.#actOn(run_id, action)
      // The service stops: another process goes on with this run.
      if (message === undefined) break
      next++
      if (message !== null) failed.push({ run_id, message })
      else if (!plan.dry_run) done++
    }
    return { next, done, failed }
  }

  /** Why it was not done; null where it was; undefined where another process has to try. */
  async #actOn(
    run_id: string,
    { id, caller, by_operator, plan }: StoredAction<RunsPlan>,
  ): Promise<string | null | undefined> {
    const { store, runs, audit } = this.#ports
    const found = await store.lookup(run_id)
    // A crash may have come between the deletion and the note of it.
    if (found.found !== "run") return plan.act === "delete" && !plan.dry_run ? null : "The run was deleted"
    const { run } = found
    if (!by_operator && run.caller !== caller) return "There is no such run"
    const status = (await runs.status(run_id)) ?? "completed"
    const misfit = whyUnfit(plan.act, status)
    if (misfit !== null || plan.dry_run) return misfit
    if (plan.act === "retry_failed") return this.#retry(run, id)
    if (plan.act === "cancel") {
      if (status === "cancelled" || status === "cancelling") return null
      if (!(await runs.cancel(run_id))) return "The run has ended"
      audit({ act: "cancelled", run_id, caller, id })
      return null
    }
    if ((await store.delete(run_id)) === "open") return "The run has not ended"
    audit({ act: "deleted", run_id, caller, id })
    return null
  }

  /** A re-run under a key of the action: a second attempt finds the first one's run. */
  async #retry({ run_id, caller }: RunRow, id: string): Promise<string | null | undefined> {
    const { store, runs, planOf, notify } = this.#ports
    const run = rerunOf(run_id, await store.request(run_id), {})
    const compiled = await planOf(run, caller)
    if ("error" in compiled) return compiled.error.message
    const refused = await whyNotServed(this.#ports, compiled.plan, run, false)
    if (refused !== null) return refused.message
    const misfit = runs.validate(compiled.plan, run)
    if (misfit !== null) return misfit.issues[0]?.message ?? misfit.message
    try {
      checkNotify(run.options.notify, notify)
    } catch (error) {
      if (error instanceof HttpError) return error.message
      throw error
    }
    // No header can hold this key.
    const idempotency = { key: `action\n${id}\n${run_id}`, fingerprint: "" }
    for (const until = performance.now() + noRoomMs; ;) {
      const admitted = await runs.admit(compiled.plan, { caller, request: run, idempotency })
      if (admitted.outcome !== "refused") return null
      const { kind, message, issues } = admitted.error
      const isFull = kind === "overloaded" || kind === "rate_limited"
      if (isFull && (this.#stop.signal.aborted || runs.isDraining)) return undefined
      if (!isFull || performance.now() > until) return issues[0]?.message ?? message
      await sleep(tryAgainMs, undefined, { signal: this.#stop.signal }).catch(() => undefined)
    }
  }
}

function whyUnfit(act: RunAct, status: string): string | null {
  const hasEnded = status === "completed" || status === "failed" || status === "cancelled"
  if (act === "retry_failed") {
    if (!hasEnded) return "The run has not ended"
    return status === "completed" ? "The run has completed" : null
  }
  if (act === "delete") return hasEnded ? null : "The run has not ended"
  return status === "completed" || status === "failed" ? "The run has ended" : null
}
