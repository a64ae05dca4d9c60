import { setMaxListeners } from "node:events"
import { WakeUp } from "../../base/wake-up.ts"
import type { RandomSource } from "../../ports/random-source.ts"
import type { Clock } from "../../ports/clock.ts"
import { EgressFailure, type Egress } from "../../ports/egress.ts"
import type { Delivery, NoticeOutcome, TakenNotice } from "../../ports/notices.ts"
import { receiverOf } from "../../ports/receiver-of.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { StoreFailure, type RunStore } from "../../ports/store.ts"
import { noticeMessage, webhookId } from "./notice-message.ts"
import { signWebhook } from "./sign-webhook.ts"
import { noticeAtOnce, noticeAttemptMs, noticeFirstDelayMs, noticeForMs, noticePerReceiver } from "../../base/limits.ts"

/** Longer than an attempt takes, so that no other process delivers the same notice meanwhile. */
const holdMs = 15_000
/** How often to look for notices of other processes that died. */
const lookMs = 5_000
const longestDelayMs = 3_600_000
const longestErrorLength = 300

export interface NotifierPorts {
  readonly store: Pick<RunStore, "outbox">
  readonly egress: Egress
  readonly clock: Clock
  readonly random: RandomSource
  bug(error: unknown): void
  /** Hears how each attempt went. */
  attempted?(outcome: "delivered" | "failed" | "gave_up", notice: TakenNotice, error: string | null): void
}

export interface NotifierSettings {
  /** Where notices may be sent, as `URL.origin` writes it. */
  readonly origins: ReadonlySet<string>
  /** Every message is signed with each. */
  readonly secrets: readonly Uint8Array[]
}

type Attempt =
  | { readonly outcome: "delivered" }
  /** The receiver wants no more of it. */
  | { readonly outcome: "refused"; readonly error: string }
  | { readonly outcome: "failed"; readonly error: string }

/** Delivers the notices of the outbox, those of other processes included, until it is stopped. */
export class Notifier {
  readonly #ports: NotifierPorts
  readonly #settings: NotifierSettings
  readonly #wakeUp = new WakeUp()
  readonly #stop = new AbortController()
  readonly #abort = new AbortController()
  /** The deliveries that are under way. */
  readonly #busy = new Map<Promise<void>, Delivery>()
  readonly #running: Promise<void>

  constructor(ports: NotifierPorts, settings: NotifierSettings) {
    this.#ports = ports
    this.#settings = settings
    setMaxListeners(0, this.#abort.signal)
    this.#running = this.#run()
  }

  /** Takes no more notices, and waits for attempts that are under way: others take up what is aborted. */
  async stop(graceMs: number): Promise<void> {
    this.#stop.abort(new Error("The service is shutting down"))
    this.#wakeUp.signal()
    await this.#running
    const done = new AbortController()
    await Promise.race([
      Promise.all(this.#busy.keys()).then(() => done.abort(new Error("All attempts have ended"))),
      this.#ports.clock.sleep(graceMs, done.signal).catch(() => undefined),
    ])
    this.#abort.abort(new Error("The service is shutting down"))
    await Promise.all(this.#busy.keys())
  }

  async #run(): Promise<void> {
    const unlisten = this.#ports.store.outbox.onNotice(() => this.#wakeUp.signal())
    while (!this.#stop.signal.aborted) {
      const pause = await this.#look()
      await this.#signalledWithin(pause)
    }
    unlisten()
  }

  /** Begins with what is due, and says how long nothing more is. */
  async #look(): Promise<number> {
    const { store, clock } = this.#ports
    const room = noticeAtOnce - this.#busy.size
    // The end of an attempt rings.
    if (room === 0) return lookMs
    try {
      const limit = { most: noticePerReceiver, busy: [...this.#busy.values()] }
      const now = clock.now()
      const { taken, next_due } = await store.outbox.take(room, holdMs, limit)
      for (const notice of taken) this.#begin(notice)
      // A notice that is due and was not taken waits for a place at its receiver.
      if (taken.length === room || next_due === null || next_due <= now) return lookMs
      return Math.min(Math.max(next_due - clock.now(), 0), lookMs)
    } catch (error) {
      if (!(error instanceof StoreFailure)) this.#ports.bug(error)
      return lookMs
    }
  }

  async #signalledWithin(ms: number): Promise<void> {
    const signalled = new AbortController()
    const late = this.#ports.clock.sleep(ms, signalled.signal).then(
      () => this.#wakeUp.signal(),
      () => undefined,
    )
    await this.#wakeUp.signalled()
    signalled.abort()
    await late
  }

  #begin(notice: TakenNotice): void {
    const busy = this.#deliver(notice)
      .catch((error: unknown) => {
        // It is due again when the time to deliver it is over.
        if (!(error instanceof StoreFailure)) this.#ports.bug(error)
      })
      .finally(() => {
        this.#busy.delete(busy)
        this.#wakeUp.signal()
      })
    this.#busy.set(busy, { receiver: receiverOf(notice.url), caller: notice.caller })
  }

  async #deliver(notice: TakenNotice): Promise<void> {
    const attempt = await this.#attempt(notice)
    // It is unknown whether it arrived, so the next process delivers it again.
    if (attempt === null) return
    const outcome = this.#outcomeOf(notice, attempt)
    this.#ports.attempted?.(outcome.status === "pending" ? "failed" : outcome.status, notice, outcome.last_error)
    await this.#ports.store.outbox.settle(notice, outcome)
  }

  #outcomeOf({ attempts, caused_at }: TakenNotice, attempt: Attempt): NoticeOutcome {
    if (attempt.outcome === "delivered") return { status: "delivered", last_error: null, due_at: 0 }
    const last_error = attempt.error.slice(0, longestErrorLength)
    const due_at = this.#ports.clock.now() + this.#delay(attempts)
    if (attempt.outcome === "refused" || due_at > caused_at + noticeForMs) {
      return { status: "gave_up", last_error, due_at: 0 }
    }
    return { status: "pending", last_error, due_at }
  }

  /** About 5 s, then twice as long each time, up to an hour. */
  #delay(attempts: number): number {
    const usual = Math.min(noticeFirstDelayMs * 2 ** Math.min(attempts - 1, 20), longestDelayMs)
    return Math.round(usual * (0.9 + 0.2 * this.#ports.random.fraction()))
  }

  /** Null: the service stops. */
  async #attempt(notice: TakenNotice): Promise<Attempt | null> {
    const { egress, clock } = this.#ports
    const { origins, secrets } = this.#settings
    // The setting may have changed since the run was admitted.
    const origin = URL.parse(notice.url)?.origin ?? ""
    if (!origins.has(origin)) return { outcome: "failed", error: `WIRE_NOTIFY_ORIGINS does not list ${origin}` }
    const body = noticeMessage(notice)
    const headers = {
      "content-type": "application/json",
      ...signWebhook(secrets, webhookId(notice), Math.floor(clock.now() / 1000), body),
    }
    try {
      const response = await egress.fetch(
        notice.url,
        { method: "POST", headers, body, redirect: "manual", signal: this.#abort.signal },
        { totalMs: noticeAttemptMs, max_bytes: 64 * 1024 },
      )
      const { status } = response
      await response.body?.cancel()
      if (status >= 200 && status < 300) return { outcome: "delivered" }
      const error = `The receiver answered ${status}`
      return status === 410 ? { outcome: "refused", error } : { outcome: "failed", error }
    } catch (error) {
      if (this.#abort.signal.aborted) return null
      if (error instanceof EgressFailure || error instanceof RunFailure)
        return { outcome: "failed", error: error.message }
      this.#ports.bug(error)
      return { outcome: "failed", error: "The message could not be sent" }
    }
  }
}
