import type { Clock } from "../../ports/clock.ts"
import { Damaged } from "../../ports/store.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import type { Outbox } from "./nats-outbox.ts"
import type { QuestionEntries } from "./question-entries.ts"
import { dayOf, lastToken } from "./names.ts"
import type { Stored } from "./transport.ts"

/** Facts about an ended run that need no look at its log. */
export interface DoneFacts {
  readonly finished_at: number
  readonly caller: string
  /** The last slot. */
  readonly slot: number
  readonly once: string | null
  /** It may have notices. */
  readonly notifies?: boolean
  /** It has asked questions. */
  readonly asked?: boolean
  /** Its entry in the list of runs; absent for a run that was never made. */
  readonly listed?: string
}

interface Tombstone {
  readonly caller: string
  readonly until: number
}

/** Ends are stored in the order in which they came; the clocks of the processes may differ by so much. */
const clockDifferenceMs = 10 * 60_000
const batchSize = 25
/** Up to so many slots are purged one by one: a purge by pattern looks at every message of the stream. */
const fewSlots = 64

export class Retention {
  readonly #broker: Broker
  readonly #clock: Clock
  readonly #tombstoneMs: number
  readonly #outbox: Outbox
  readonly #questions: QuestionEntries

  constructor(broker: Broker, outbox: Outbox, questions: QuestionEntries, clock: Clock, tombstoneMs: number) {
    this.#outbox = outbox
    this.#questions = questions
    this.#broker = broker
    this.#clock = clock
    this.#tombstoneMs = tombstoneMs
  }

  /** All keys were looked at once. */
  #sweptKeys = false

  async ended(run_id: string, facts: DoneFacts): Promise<void> {
    await this.#broker.put(this.#broker.names.done(run_id), packFrame(facts, []))
  }

  /** The caller whose run retention deleted; null for a run that never existed or was deleted too long ago. */
  async callerOf(run_id: string): Promise<string | null> {
    const message = await this.#broker.get("gone", this.#broker.names.gone(run_id), "sure")
    if (message === null) return null
    const { caller, until } = unpackFrame<Tombstone>(message.subject, message.data).facts
    return until > this.#clock.now() ? caller : null
  }

  /** Deletes an ended run now; null where the list of ended runs does not have it. False: another process was faster. */
  async delete(run_id: string): Promise<boolean | null> {
    const { names } = this.#broker
    const message = await this.#broker.get("done", names.done(run_id), "sure")
    if (message === null) return null
    // First: should this process die on the way, the next sweep finds it.
    await this.#broker.put(names.erase(run_id), packFrame({}, []))
    const { facts } = unpackFrame<DoneFacts>(message.subject, message.data)
    const deleted = await this.#delete({ ...message, facts })
    await this.#broker.erase("keys", names.erase(run_id))
    return deleted
  }

  /** Forgets keys that outlived their runs for long enough. */
  async #sweepKeys(): Promise<void> {
    const { names } = this.#broker
    const today = dayOf(this.#clock.now())
    // Those of older days were left while no process ran.
    const days = this.#sweptKeys ? [today - 2, today - 1, today] : [null]
    this.#sweptKeys = true
    for (const day of days) {
      for (const subject of await this.#broker.list("keys", names.keysUntil(day))) {
        if (Number(subject.split(".").at(-2)) >= today) continue
        const key = names.once(lastToken(subject))
        const found = await this.#broker.get("keys", key, "sure")
        const { facts } = found === null ? {} : unpackFrame<{ run_id: string; until?: number }>(key, found.data)
        const isOver = facts?.until !== undefined && facts.until <= this.#clock.now()
        // The key of a run that is still kept is deleted with it.
        if (found !== null && isOver && (await this.callerOf(facts.run_id)) !== null) {
          await this.#broker.erase("keys", key, found.seq)
        }
        await this.#broker.erase("keys", subject)
      }
    }
  }

  async sweep(ended_before: number): Promise<number> {
    const { names } = this.#broker
    await this.#sweepKeys()
    for (const subject of await this.#broker.list("keys", names.anyErase)) {
      if ((await this.delete(lastToken(subject))) === null) await this.#broker.erase("keys", subject)
    }
    let swept = 0
    let seq = 1
    for (;;) {
      const due: (Stored & { readonly facts: DoneFacts })[] = []
      let more = true
      while (more && due.length < batchSize) {
        const message = await this.#broker.next("done", seq)
        if (message === null) {
          more = false
          break
        }
        seq = message.seq + 1
        const { facts } = unpackFrame<DoneFacts>(message.subject, message.data)
        if (facts.finished_at < ended_before) due.push({ ...message, facts })
        else more = facts.finished_at < ended_before + clockDifferenceMs
      }
      const deleted = await Promise.all(due.map((message) => this.#delete(message)))
      swept += deleted.filter(Boolean).length
      if (!more) return swept
    }
  }

  /** In this order: a process that dies on the way leaves something for the next sweep to find. False: another process was faster. */
  async #delete({ subject, seq, facts }: Stored & { readonly facts: DoneFacts }): Promise<boolean> {
    const { names } = this.#broker
    const run_id = lastToken(subject)
    const tombstone: Tombstone = { caller: facts.caller, until: this.#clock.now() + this.#tombstoneMs }
    await this.#broker.put(names.gone(run_id), packFrame(tombstone, []))
    await Promise.all([
      facts.once === null ? null : this.#deleteKey(facts.once, run_id),
      this.#broker.purge("keys", names.cancel(run_id)),
      facts.listed === undefined ? null : this.#broker.purge("runs", facts.listed),
      this.#deleteLog(run_id, facts.slot),
    ])
    // After the log: a process that settles a notice from now on sees that the run is gone.
    if (facts.notifies === true) await this.#outbox.forget(run_id)
    if (facts.asked === true) await this.#questions.forget(run_id)
    return this.#broker.erase("done", subject, seq)
  }

  async #deleteKey(once: string, run_id: string): Promise<void> {
    const message = await this.#broker.get("keys", this.#broker.names.once(once), "sure")
    if (message === null) return
    const { facts } = unpackFrame<{ run_id: string; until?: number }>(message.subject, message.data)
    if (facts.until !== undefined && facts.until > this.#clock.now()) return
    if (facts.run_id === run_id) await this.#broker.erase("keys", message.subject, message.seq)
  }

  async #deleteLog(run_id: string, last: number): Promise<void> {
    const { names } = this.#broker
    const slots = Array.from({ length: last + 1 }, (_, slot) => slot)
    if (slots.length > fewSlots || (await this.#isCut(run_id, slots))) {
      await this.#broker.purge("log", `${names.prefix}.log.${run_id}.>`)
      return
    }
    // The head goes last: as long as it is there, the run is.
    await Promise.all(slots.slice(1).map((slot) => this.#broker.purge("log", names.slot(run_id, slot))))
    await this.#broker.purge("log", names.slot(run_id, 0))
  }

  /** Whether some of it is, or may be, stored in pieces. */
  async #isCut(run_id: string, slots: readonly number[]): Promise<boolean> {
    const { names } = this.#broker
    const found = await Promise.all(slots.map((slot) => this.#broker.get("log", names.slot(run_id, slot), "near")))
    return found.some((message) => message === null || mayBeCut(message))
  }
}

function mayBeCut({ subject, data }: Stored): boolean {
  try {
    return unpackFrame<{ cut?: number[] }>(subject, data).facts.cut !== undefined
  } catch (error) {
    if (error instanceof Damaged) return true
    throw error
  }
}
