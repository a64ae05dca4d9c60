import type { JsonValue } from "../base/json-value.ts"
import type { Clock } from "../ports/clock.ts"
import {
  eventFingerprint,
  idOf,
  keepUntil,
  mostEventIds,
  type Delivery,
  type EventAnswer,
  type EventStore,
  type NewEvent,
  type Receipt,
  type SentEvent,
} from "../ports/event-store.ts"
import type { Vault } from "../ports/vault.ts"
import { eventKey } from "../ports/waits.ts"
import type { Changes } from "./changes.ts"
import { eventStatus } from "./event-writer.ts"
import type { LogReader } from "./log-reader.ts"
import { sealOutcome } from "./sealed-waits.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { all, get, type Row, type Steps } from "./sql.ts"

const columns = "num, caller, status, received_at, keep_until, body"
const statuses = ["arriving", "kept", "over"] as const
/** How old a count of a caller's ids may be. */
const countedMs = 60_000
const pageEvents = 200

/** The sealed part of an event. */
type Sealed = Pick<NewEvent, "id" | "source" | "everyone" | "name" | "key" | "data">

/** Events that callers send, as rows. Places and ids are keyed hashes; all else is sealed. */
export class SqlEvents implements EventStore {
  readonly #medium: SqlMedium
  readonly #log: LogReader
  readonly #changes: Changes
  readonly #vault: Vault
  readonly #clock: Clock
  /** Counts of ids by caller: an exact count would read all of them for each event. */
  readonly #counts = new Map<string, { ids: number; readonly at: number }>()

  constructor(medium: SqlMedium, log: LogReader, changes: Changes, vault: Vault, clock: Clock) {
    this.#medium = medium
    this.#log = log
    this.#changes = changes
    this.#vault = vault
    this.#clock = clock
  }

  async receive(event: NewEvent): Promise<Receipt> {
    const { caller, everyone, id, source, name, key, data } = event
    const received_at = this.#clock.now()
    const keep_until = keepUntil(received_at, event)
    const digest = id === null ? null : this.#vault.digest("id of an event", [caller, source, id])
    const fingerprint = this.#vault.digest("contents of an event", [eventFingerprint(event)])
    const counted = id === null ? null : await this.#counted(caller)
    if (digest !== null && counted !== null && counted.ids >= mostEventIds) {
      // One that is known is answered all the same.
      if ((await this.#medium.read(knows(digest))) === undefined) return { outcome: "full", of: "ids" }
    }
    const sealed: Sealed = { id, source, everyone, name, key, data }
    const place = this.#place(everyone ? null : caller, name, key)
    const body = this.#vault.seal(about(caller), JSON.stringify(sealed))
    const receipt = await this.#medium.send({
      kind: "receive event",
      caller,
      received_at,
      keep_until,
      blobs: [digest, fingerprint, place, body],
    })
    if (receipt.outcome === "stored" && counted !== null) counted.ids++
    return receipt
  }

  async #counted(caller: string): Promise<{ ids: number }> {
    const now = this.#clock.monotonic()
    const known = this.#counts.get(caller)
    if (known !== undefined && now - known.at < countedMs) return known
    const counted = { ids: await this.#medium.read(countIds(caller)), at: now }
    if (this.#counts.size > 10_000) this.#counts.clear()
    this.#counts.set(caller, counted)
    return counted
  }

  async one(number: number): Promise<SentEvent | null> {
    const row = await this.#medium.read(get(`SELECT ${columns} FROM sent_events WHERE num = ? AND status <= 1`, number))
    return row === undefined ? null : this.#opened(row)
  }

  async waiting(caller: string, name: string, key: string): Promise<readonly SentEvent[]> {
    const now = this.#clock.now()
    const found: SentEvent[] = []
    for (const whose of [caller, null]) {
      const rows = await this.#medium.read(
        all(
          `SELECT ${columns} FROM sent_events WHERE place = ? AND status <= 1 AND keep_until > ? ORDER BY num`,
          this.#place(whose, name, key),
          now,
        ),
      )
      // Whoever writes to the database gives no event to another wait.
      found.push(
        ...rows
          .map((row) => this.#opened(row))
          .filter((one) => one.name === name && one.key === key && one.everyone === (whose === null)),
      )
    }
    return found.toSorted((a, b) => a.number - b.number)
  }

  async deliver(number: number, run_id: string, wait: string, data: JsonValue): Promise<Delivery> {
    const head = await this.#medium.read(this.#log.head(run_id))
    if (head?.num === undefined) return "settled"
    const now = this.#clock.now()
    const sealed = sealOutcome(head.key, "event", wait, { data })
    const result = await this.#medium.send(
      { kind: "deliver", number, run: head.num, wait, now, blobs: [sealed] },
      { news: { what: "outcome", run_id } },
    )
    if (result === "delivered") this.#changes.outcomeStored(run_id)
    return result
  }

  close(number: number, forget: boolean): Promise<EventAnswer> {
    return this.#medium.send({ kind: "close event", number, forget, now: this.#clock.now(), blobs: [] })
  }

  async unfinished(before: number): Promise<readonly number[]> {
    const rows = await this.#medium.read(
      all("SELECT num FROM sent_events WHERE status = 0 AND received_at < ? ORDER BY num LIMIT 100", before),
    )
    return rows.map(({ num }) => num as number)
  }

  async kept(caller: string, limit: number, after: number): Promise<readonly SentEvent[]> {
    const rows = await this.#medium.read(
      all(
        `SELECT ${columns} FROM sent_events WHERE caller = ? AND status = ${eventStatus.kept} AND keep_until > ? AND num > ?
         ORDER BY num LIMIT ?`,
        caller,
        this.#clock.now(),
        after,
        limit,
      ),
    )
    return rows.map((row) => this.#opened(row))
  }

  async drop(caller: string, id: string): Promise<boolean> {
    for (let after = 0; ;) {
      const page = await this.kept(caller, pageEvents, after)
      const found = page.find((event) => idOf(event) === id)
      if (found !== undefined) return this.#medium.send({ kind: "drop event", number: found.number, blobs: [] })
      const last = page.at(-1)
      if (last === undefined) return false
      after = last.number
    }
  }

  #opened(row: Row): SentEvent {
    const caller = row["caller"] as string
    const sealed = JSON.parse(this.#vault.open(about(caller), row["body"] as Uint8Array)) as Sealed
    return {
      ...sealed,
      caller,
      number: row["num"] as number,
      status: statuses[row["status"] as number] ?? "over",
      received_at: row["received_at"] as number,
      keep_until: row["keep_until"] as number | null,
    }
  }

  /** A keyed hash that finds the events which a wait can take. Null: a wait of anybody. */
  #place(caller: string | null, name: string, key: string): Uint8Array {
    return this.#vault.digest("place of an event", [caller === null ? "all" : "one", caller ?? "", eventKey(name, key)])
  }
}

function about(caller: string): string {
  return `event ${caller}`
}

function* knows(id: Uint8Array): Steps<Row | undefined> {
  return yield* get("SELECT num FROM sent_events WHERE id = ?", id)
}

function* countIds(caller: string): Steps<number> {
  const row = yield* get("SELECT count(*) AS ids FROM sent_events WHERE caller = ? AND id IS NOT NULL", caller)
  return row?.["ids"] as number
}
