import { isStoreTrouble } from "../../ports/store.ts"
import { missingKey, type KeyChange, type Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import { keySentence, readKeyRecord, writeKeyRecord } from "./key-record.ts"
import { lastToken, type StreamName } from "./names.ts"
import { aboutNotice, aboutRun, aboutSecrets, type SlotFacts } from "./slot.ts"

/** How often a replica looks whether another one has begun to change the key, or is done. */
const lookMs = 2_000
/** By then every replica has looked, also one whose broker was out of reach for a moment. */
const settledMs = 10_000
const together = 16

/** Something that the master key itself wrapped or sealed. */
interface Thing {
  readonly stream: StreamName
  readonly subject: string
  /** Messages on the subject: more than one where a process died after it had stored the newest. */
  readonly copies: number
}

/** What a thing becomes; null when it needs no change, or is gone. */
interface Change extends Omit<Thing, "copies"> {
  readonly seq: number
  readonly data: Uint8Array
}

/**
 * Moves what is in the broker from one master key to another: the keys of runs and of their secrets, and notices. Cached answers are
 * dropped. Any replica may do it, and several may at the same time: the second one finds the thing under the new key. What
 * other replicas write with the key before until they hear of the change is found by a second look at everything, which
 * begins when all have received it.
 */
export class NatsKeyChange implements KeyChange {
  readonly #broker: Broker
  readonly #vault: Vault
  readonly #begunAt: number
  readonly #settledMs: number
  #todo: Thing[] | null = null
  #final = false

  constructor(broker: Broker, vault: Vault, settledAfterMs = settledMs) {
    this.#broker = broker
    this.#vault = vault
    this.#begunAt = broker.now()
    this.#settledMs = settledAfterMs
  }

  async step(): Promise<{ readonly rewritten: number; readonly left: number }> {
    const wait = this.#begunAt + this.#settledMs - this.#broker.now()
    if (this.#todo === null) {
      this.#final = wait <= 0
      await this.#broker.purge("cache", `${this.#broker.names.prefix}.cache.>`)
      this.#todo = await this.#things()
    }
    const some = this.#todo.slice(0, together)
    const rewritten = await Promise.all(some.map((thing) => this.#rewrite(thing)))
    this.#todo = this.#todo.slice(some.length)
    const count = rewritten.filter(Boolean).length
    if (this.#todo.length > 0) return { rewritten: count, left: this.#todo.length }
    this.#todo = null
    if (!this.#final) {
      await this.#broker.pause(wait)
      return { rewritten: count, left: 1 }
    }
    return { rewritten: count, left: (await this.#finish()) ? 0 : 1 }
  }

  /** How many things need the old key. */
  async count(): Promise<number> {
    const things = await this.#things()
    let count = 0
    for (let at = 0; at < things.length; at += together) {
      const changes = await Promise.all(things.slice(at, at + together).map((thing) => this.#change(thing)))
      count += changes.filter((change) => change !== null).length
    }
    return count
  }

  async #finish(): Promise<boolean> {
    const found = await readKeyRecord(this.#broker)
    if (found === null || found.record.old === null) return true
    // Another replica has begun to change back.
    if (Buffer.compare(found.record.mark, this.#vault.marks[0] ?? new Uint8Array(0)) !== 0) return true
    return writeKeyRecord(this.#broker, { ...found.record, old: null }, found.seq)
  }

  async #things(): Promise<Thing[]> {
    const { names } = this.#broker
    const list = async (stream: StreamName, filter: string): Promise<Thing[]> =>
      Object.entries(await this.#broker.count(stream, filter)).map(([subject, copies]) => ({ stream, subject, copies }))
    // Open runs before parked ones: a run that is parked meanwhile is found in the second list.
    return [
      ...(await list("log", names.slot("*", 0))),
      ...(await list("open", `${names.prefix}.open.>`)),
      ...(await list("ask", names.parked("*", "*"))),
      ...(await list("outbox", `${names.prefix}.outbox.>`)),
    ]
  }

  async #rewrite(thing: Thing): Promise<boolean> {
    // Again, should it have changed between the two.
    for (;;) {
      const change = await this.#change(thing)
      if (change !== null && (await this.#broker.replace(change.subject, change.data, change.seq)) === null) continue
      // Two streams keep older messages of a subject: those go now.
      if ((change !== null || thing.copies > 1) && (thing.stream === "log" || thing.stream === "open")) {
        await this.#broker.keepNewest(thing.stream, change?.subject ?? thing.subject)
      }
      return change !== null
    }
  }

  async #change({ stream, subject }: Omit<Thing, "copies">): Promise<Change | null> {
    const stored = await this.#broker.getFromLeader(stream, subject)
    if (stored === null) return null
    const { facts, parts } = unpackFrame<Partial<SlotFacts> & { run_id?: string; event_id?: number }>(
      subject,
      stored.data,
    )
    const [first, ...rest] = parts
    if (first === undefined) return null
    const run_id = stream === "log" ? (subject.split(".").at(-2) ?? "") : lastToken(subject)
    switch (stream) {
      case "log": {
        if (facts.kind !== "head") return null
        if ((facts.cut?.[0] ?? 0) > 0) return this.#changePiece(run_id, facts.nonce ?? "")
        const again = this.#vault.rewrap(aboutRun(run_id), first)
        return again === null ? null : { stream, subject, seq: stored.seq, data: packFrame(facts, [again, ...rest]) }
      }
      case "outbox": {
        const again = this.#vault.reseal(aboutNotice(facts.run_id ?? "", facts.event_id ?? 0), first)
        return again === null ? null : { stream, subject, seq: stored.seq, data: packFrame(facts, [again, ...rest]) }
      }
      default: {
        const again = this.#vault.rewrap(aboutSecrets(run_id), first)
        return again === null ? null : { stream, subject, seq: stored.seq, data: packFrame(facts, [again, ...rest]) }
      }
    }
  }

  /** Beside a large request the run's key is in a message of its own. */
  async #changePiece(run_id: string, nonce: string): Promise<Change | null> {
    const subject = this.#broker.names.piece(run_id, 0, nonce, 0)
    const stored = await this.#broker.getFromLeader("log", subject)
    const data = stored === null ? null : this.#vault.rewrap(aboutRun(run_id), stored.data)
    if (data === null) await this.#broker.keepNewest("log", subject)
    return stored === null || data === null ? null : { stream: "log", subject, seq: stored.seq, data }
  }
}

/** A look at the record that is older is made again before something is sealed: a change of the key ends without those who have not heard of it. */
const mostAgeMs = settledMs / 2

/** Keeps the vault to the key that the broker's record names, and stops it from writing where this process does not have it. */
export class KeyWatch {
  readonly #broker: Broker
  readonly #vault: Vault
  readonly stop: () => void
  #lookedAt: number

  constructor(broker: Broker, vault: Vault, everyMs = lookMs) {
    this.#broker = broker
    this.#vault = vault
    this.#lookedAt = broker.now()
    this.stop = broker.every(everyMs, () => void this.#lookAgain())
  }

  /** To be awaited before a key is wrapped, and before what was wrapped at `at` is stored: this process may have stood still. */
  heard(at = Infinity): Promise<unknown> | null {
    return this.#broker.now() - Math.min(at, this.#lookedAt) > mostAgeMs ? this.#look() : null
  }

  async #look(): Promise<void> {
    const at = this.#broker.now()
    await followKeyRecord(this.#broker, this.#vault)
    this.#lookedAt = at
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.#look()
    } catch (error) {
      // The next look may find the broker again.
      if (!isStoreTrouble(error)) throw error
    }
  }
}

/** Why what is stored cannot be read or written by this process; null when it can. */
export async function followKeyRecord(broker: Broker, vault: Vault): Promise<string | null> {
  const found = await readKeyRecord(broker)
  const missing = found === null ? null : missingKey(found.record, vault.marks)
  // Without the key before, this process reads less and writes what all can read.
  const sentence = missing === null || missing === "old" ? null : keySentence(missing)
  vault.refuseWrites(sentence)
  if (found !== null && sentence === null) vault.agree(found.record, "follow")
  return missing === null ? null : keySentence(missing)
}
