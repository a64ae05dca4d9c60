import type { Clock } from "../ports/clock.ts"
import type { Notice, NoticeOutcome, OutboxStore, ReceiverLimit, TakenNotice, TakenNotices } from "../ports/notices.ts"
import type { Vault } from "../ports/vault.ts"
import type { Changes } from "./changes.ts"
import type { LogReader } from "./log-reader.ts"
import { aboutError } from "./sealed-notices.ts"
import type { SqlMedium } from "./sql-medium.ts"

/** The notices that are due: takes them, and stores what became of them. */
export class Outbox implements OutboxStore {
  readonly #medium: SqlMedium
  readonly #reader: LogReader
  readonly #changes: Changes
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(medium: SqlMedium, reader: LogReader, changes: Changes, vault: Vault, clock: Clock) {
    this.#changes = changes
    this.#medium = medium
    this.#reader = reader
    this.#vault = vault
    this.#clock = clock
  }

  /** A digest of the origin: the database does not show who is notified. */
  receiver(origin: string): string {
    return Buffer.from(this.#vault.digest("receiver of notices", [origin])).toString("base64url")
  }

  async ofRun(run_id: string): Promise<Notice[]> {
    return this.#medium.read(this.#reader.notices(run_id))
  }

  onNotice(listener: () => void): () => void {
    return this.#changes.onNotice(listener)
  }

  async take(limit: number, holdMs: number, receivers?: ReceiverLimit): Promise<TakenNotices> {
    const now = this.#clock.now()
    // Looking costs the writer nothing: most looks find nothing that is due.
    const first = await this.#medium.read(this.#reader.nextNotice())
    if (first === null || first > now || limit <= 0) return { taken: [], next_due: first }
    const due_at = now + holdMs
    const byDigest = receivers && {
      ...receivers,
      busy: receivers.busy.map(({ receiver, caller }) => ({ receiver: this.receiver(receiver), caller })),
    }
    const operation = { kind: "take notices", limit, now, due_at, receivers: byDigest ?? null, blobs: [] } as const
    const taken: TakenNotice[] = []
    for (const { run_id, event_id } of await this.#medium.send(operation)) {
      const notice = await this.#medium.read(this.#reader.takenNotice(run_id, event_id))
      if (notice !== null) taken.push(notice)
    }
    return { taken, next_due: await this.#medium.read(this.#reader.nextNotice()) }
  }

  async settle({ run_id, event_id, attempts }: Notice, outcome: NoticeOutcome): Promise<void> {
    const { status, due_at, last_error } = outcome
    const sealed = last_error === null ? null : this.#vault.seal(aboutError(run_id, event_id), last_error)
    await this.#medium.send({ kind: "settle notice", run_id, event_id, attempts, status, due_at, blobs: [sealed] })
  }
}
