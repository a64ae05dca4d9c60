import type { JsonObject } from "../../base/json-value.ts"
import type { Clock } from "../../ports/clock.ts"
import type { Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { fillSlot } from "./log-writer.ts"
import { lastToken } from "./names.ts"
import type { Outbox } from "./nats-outbox.ts"
import type { Parking } from "./parking.ts"
import type { QuestionOutcomes } from "./settle-questions.ts"
import type { Retention } from "./retention.ts"
import { aboutSecrets, endOf, type Slot } from "./slot.ts"

/** A run as the list of open ones names it. */
export interface OpenRun {
  readonly run_id: string
  readonly created_at: number
}

/** The list of runs that have not ended, with their secrets: entries are made before their runs, and removed after their ends. */
export class OpenRuns {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #retention: Retention
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #outbox: Outbox
  readonly #parking: Parking
  readonly #questions: QuestionOutcomes

  constructor(
    broker: Broker,
    reader: LogReader,
    retention: Retention,
    beside: { readonly outbox: Outbox; readonly parking: Parking; readonly questions: QuestionOutcomes },
    vault: Vault,
    clock: Clock,
  ) {
    this.#outbox = beside.outbox
    this.#parking = beside.parking
    this.#questions = beside.questions
    this.#broker = broker
    this.#reader = reader
    this.#retention = retention
    this.#vault = vault
    this.#clock = clock
  }

  /** The oldest first. */
  async list(): Promise<OpenRun[]> {
    const subjects = await this.#broker.list("open", `${this.#broker.names.prefix}.open.>`)
    return subjects
      .toSorted()
      .map((subject) => ({ run_id: lastToken(subject), created_at: Number(subject.split(".").at(-2)) }))
  }

  /** A run whose creator dies after this is found here, and taken up or removed. False: there is such an entry. */
  async announce({ run_id, created_at }: OpenRun, secrets: JsonObject): Promise<boolean> {
    const subject = this.#broker.names.open(created_at, run_id)
    return (await this.#broker.putOnce(subject, this.#seal(run_id, secrets))) !== null
  }

  async secrets({ run_id, created_at, caller }: OpenRun & { readonly caller: string }): Promise<JsonObject> {
    const open = this.#broker.names.open(created_at, run_id)
    const entry = (await this.#broker.get("open", open, "sure")) ?? (await this.#parking.entry(run_id, caller))
    const [wrapped, body] = entry === null ? [] : unpackFrame(entry.subject, entry.data).parts
    if (wrapped === undefined || body === undefined) return {}
    return JSON.parse(this.#vault.openKey(aboutSecrets(run_id), wrapped).open("secrets", body)) as JsonObject
  }

  /** Removes the entry, its secrets overwritten. */
  async removeEntry({ run_id, created_at }: OpenRun): Promise<void> {
    await this.#broker.erase("open", this.#broker.names.open(created_at, run_id))
  }

  /** Stores the notice of a run's end, enters the run in the list of ended ones, then removes it from this one. */
  async close(run_id: string, tail: Slot, head: RunHead): Promise<void> {
    const { caller, once, created_at, notify, workflow } = head.facts
    const finished_at = endOf(tail.facts) ?? this.#clock.now()
    if (tail.facts.kind === "events") await this.#outbox.add(run_id, head, tail.facts.caused ?? null)
    const { asking = [], asked, waited } = tail.facts
    await this.#questions.withdraw(run_id, asking)
    await this.#retention.ended(run_id, {
      finished_at,
      caller,
      slot: tail.slot,
      once,
      listed: this.#broker.names.listed({ caller, workflow: workflow?.name ?? null, created_at, run_id }),
      ...(notify === undefined ? {} : { notifies: true }),
      ...(asked === undefined ? {} : { asked }),
    })
    if (waited === true) await this.#parking.forget(run_id, caller)
    else if (asked === true) await this.#parking.forgetMarks(run_id)
    await this.removeEntry({ run_id, created_at })
  }

  /** Sees to it that a run whose creator did not come back is never made. False: it has been made. */
  async makeVoid(run_id: string): Promise<boolean> {
    const facts = { kind: "void", fence: 0, session: "", last: 0 } as const
    const filled = await fillSlot(this.#broker, this.#reader, run_id, 0, facts, [])
    if (filled === null) return (await this.#reader.slotFromLeader(run_id, 0))?.facts.kind === "void"
    await this.#retention.ended(run_id, { finished_at: this.#clock.now(), caller: "", slot: 0, once: null })
    return true
  }

  /** Under a key of their own, which is deleted with them. */
  #seal(run_id: string, secrets: JsonObject): Uint8Array {
    if (Object.keys(secrets).length === 0) return packFrame({}, [])
    const { key, wrapped } = this.#vault.newKey(aboutSecrets(run_id))
    return packFrame({}, [wrapped, key.seal("secrets", JSON.stringify(secrets))])
  }
}
