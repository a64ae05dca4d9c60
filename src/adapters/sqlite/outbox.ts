import type { Clock } from "../../ports/clock.ts"
import type { Notice, NoticeOutcome, OutboxStore, ReceiverLimit, TakenNotices } from "../../ports/notices.ts"
import type { Vault } from "../../ports/vault.ts"
import type { Changes } from "./changes.ts"
import type { CommitQueue } from "./commit-queue.ts"
import type { LogReader } from "./log-reader.ts"
import { aboutError } from "./outbox-reader.ts"

/** The notices that are due: takes them, and stores what became of them. */
export class Outbox implements OutboxStore {
  readonly #queue: CommitQueue
  readonly #reader: LogReader
  readonly #changes: Changes
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(queue: CommitQueue, reader: LogReader, changes: Changes, vault: Vault, clock: Clock) {
    this.#changes = changes
    this.#queue = queue
    this.#reader = reader
    this.#vault = vault
    this.#clock = clock
  }

  /** A digest of the origin: the database does not show who is notified. */
  receiver(origin: string): string {
    return Buffer.from(this.#vault.digest("receiver of notices", [origin])).toString("base64url")
  }

  async ofRun(run_id: string): Promise<Notice[]> {
    return this.#reader.notices(run_id)
  }

  onNotice(listener: () => void): () => void {
    return this.#changes.onNotice(listener)
  }

  async take(limit: number, holdMs: number, receivers?: ReceiverLimit): Promise<TakenNotices> {
    const now = this.#clock.now()
    // Looking costs the writer nothing: most looks find nothing that is due.
    const first = this.#reader.nextNotice()
    if (first === null || first > now || limit <= 0) return { taken: [], next_due: first }
    const due_at = now + holdMs
    const byDigest = receivers && {
      ...receivers,
      busy: receivers.busy.map(({ receiver, caller }) => ({ receiver: this.receiver(receiver), caller })),
    }
    const operation = { kind: "take notices", limit, now, due_at, receivers: byDigest ?? null, blobs: [] } as const
    const found = await this.#queue.send(operation)
    const taken = found.flatMap(({ run_id, event_id }) => this.#reader.takenNotice(run_id, event_id) ?? [])
    return { taken, next_due: this.#reader.nextNotice() }
  }

  async settle({ run_id, event_id, attempts }: Notice, outcome: NoticeOutcome): Promise<void> {
    const { status, due_at, last_error } = outcome
    const sealed = last_error === null ? null : this.#vault.seal(aboutError(run_id, event_id), last_error)
    await this.#queue.send({ kind: "settle notice", run_id, event_id, attempts, status, due_at, blobs: [sealed] })
  }
}
