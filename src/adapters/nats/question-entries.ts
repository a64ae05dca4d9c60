import type { LogEvent } from "../../log/events.ts"
import { questionsIn } from "../../ports/question-store.ts"
import type { Lease } from "../../ports/store.ts"
import type { Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import type { LogReader } from "./log-reader.ts"
import { tokenOf, tokenOfId } from "./names.ts"
import type { Parking } from "./parking.ts"
import type { Stored } from "./transport.ts"

/** Where a question is: its content is in the log. It was asked only if that slot holds it. */
export interface Entry {
  readonly id: string
  readonly run_id: string
  readonly slot: number
  /** Only the process with this lease asks the question: at a later slot, with a new entry, where storing the slot failed. */
  readonly fence: number
  readonly event_id: number
  readonly asked_at: number
  readonly expires_at: number
  /** Keyed hashes; `-` where the question has no addressee. */
  readonly caller: string
  readonly to: string
}

const nobody = "-"
export const hourMs = 3_600_000
/** How many messages are read or written side by side. */
export const together = 16

/** What finds questions: by run, by who may answer, and by their expiry. */
export class QuestionEntries {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #parking: Parking
  readonly #vault: Vault

  constructor(broker: Broker, reader: LogReader, parking: Parking, vault: Vault) {
    this.#broker = broker
    this.#reader = reader
    this.#parking = parking
    this.#vault = vault
  }

  /** Before the slot that asks them is filled. */
  async announce({ run_id, fence }: Lease, slot: number, events: readonly LogEvent[]): Promise<void> {
    const { asked } = questionsIn(events)
    if (asked.length === 0) return
    const head = await this.#reader.head(run_id)
    if (head === null) return
    const caller = this.#parking.callerToken(head.facts.caller)
    const entries = asked.map(({ id: event_id, data: { id, to, asked_at, expires_at } }): Entry => {
      const times = { asked_at: Date.parse(asked_at), expires_at: Date.parse(expires_at) }
      return { id, run_id, slot, fence, event_id, ...times, caller, to: this.addressee(to) }
    })
    const { names } = this.#broker
    await inTurns(entries, async (entry) => {
      // First: what finds the question without it is taken for a remnant. It may be due already, by the clock of another process.
      await this.#broker.put(names.question(run_id, entry.id), packFrame(entry, []))
      await Promise.all([
        this.#broker.put(inboxSubject(this.#broker, "open", entry), packFrame({}, [])),
        this.#broker.put(dueSubject(this.#broker, entry), packFrame({}, [])),
      ])
    })
  }

  async at(subject: string): Promise<Entry | null> {
    return entryIn(await this.#broker.get("ask", subject, "sure"))
  }

  async latestAt(subject: string): Promise<Entry | null> {
    return entryIn(await this.#broker.getFromLeader("ask", subject))
  }

  /** From the open ones to the others. */
  async refile(entry: Entry): Promise<void> {
    await this.#broker.put(inboxSubject(this.#broker, "done", entry), packFrame({}, []))
    await Promise.all([
      this.#broker.erase("ask", inboxSubject(this.#broker, "open", entry)),
      this.#broker.erase("ask", dueSubject(this.#broker, entry)),
    ])
  }

  /** Retention deletes the run. */
  async forget(run_id: string): Promise<void> {
    const { names } = this.#broker
    const subjects = await this.#broker.list("ask", names.questionsOf(run_id))
    await inTurns(subjects, async (subject) => {
      const entry = await this.at(subject)
      if (entry !== null) await this.erase(entry)
    })
    const news = await this.#broker.list("ask", names.newsOf(run_id))
    await inTurns(news, (subject) => this.#broker.erase("ask", subject))
  }

  async erase(entry: Entry): Promise<void> {
    await Promise.all([
      this.#broker.erase("ask", inboxSubject(this.#broker, "open", entry)),
      this.#broker.erase("ask", inboxSubject(this.#broker, "done", entry)),
      this.#broker.erase("ask", dueSubject(this.#broker, entry)),
    ])
    await this.#broker.erase("ask", this.#broker.names.question(entry.run_id, entry.id))
  }

  addressee(to: string | null): string {
    return to === null ? nobody : tokenOf(this.#vault.digest("addressee of questions", [to]))
  }
}

function entryIn(stored: Stored | null): Entry | null {
  return stored === null ? null : unpackFrame<Entry>(stored.subject, stored.data).facts
}

/** Sorts like the number. */
export const padded = (value: number): string => String(value).padStart(15, "0")

function inboxSubject({ names }: Broker, place: string, entry: Entry): string {
  const { caller, to, asked_at, run_id, event_id, id } = entry
  return names.inboxEntry(place, [caller, to, padded(asked_at), run_id, padded(event_id), tokenOfId(id)])
}

function dueSubject({ names }: Broker, { expires_at, run_id, id }: Entry): string {
  return names.dueEntry([String(Math.floor(expires_at / hourMs)), padded(expires_at), run_id, tokenOfId(id)])
}

/** Some at a time, in order. */
export async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += together) {
    results.push(...(await Promise.all(items.slice(at, at + together).map(work))))
  }
  return results
}
