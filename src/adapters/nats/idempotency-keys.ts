import type { ExistingRun, Idempotency } from "../../ports/store.ts"
import type { Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import type { LogReader } from "./log-reader.ts"
import { tokenOf } from "./names.ts"
import type { OpenRuns } from "./open-runs.ts"

/** How long a key whose run is not there yet is left to its creator. */
const creatorMs = 3_000

/** What is stored under a key. */
interface KeyFacts {
  readonly run_id: string
  readonly fingerprint: string
}

/** A key and the request that it came with, by their keyed hashes. */
export interface KeyTokens {
  readonly once: string
  readonly fingerprint: string
}

/** Idempotency keys: subjects that are written once. */
export class IdempotencyKeys {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #open: OpenRuns
  readonly #vault: Vault

  constructor(broker: Broker, reader: LogReader, open: OpenRuns, vault: Vault) {
    this.#broker = broker
    this.#reader = reader
    this.#open = open
    this.#vault = vault
  }

  tokens(caller: string, { key, fingerprint }: Idempotency): KeyTokens {
    return {
      once: tokenOf(this.#vault.digest("idempotency", [caller, key])),
      fingerprint: tokenOf(this.#vault.digest("fingerprint", [caller, key, fingerprint])),
    }
  }

  /** The run that a key belongs to; null without one. */
  async find({ once, fingerprint }: KeyTokens): Promise<ExistingRun | null> {
    const found = await this.#broker.get("keys", this.#broker.names.once(once), "sure")
    if (found === null) return null
    const { facts } = unpackFrame<KeyFacts>(found.subject, found.data)
    const head = await this.#reader.slot(facts.run_id, 0, "sure")
    return head?.facts.kind === "head" ? asExisting(facts, fingerprint) : null
  }

  /** Null: the key is ours. */
  async take({ once, fingerprint }: KeyTokens, run_id: string): Promise<ExistingRun | null> {
    const subject = this.#broker.names.once(once)
    for (;;) {
      if ((await this.#broker.putOnce(subject, packFrame({ run_id, fingerprint }, []))) !== null) return null
      const found = await this.#broker.getFromLeader("keys", subject)
      // Retention took it between the two.
      if (found === null) continue
      const { facts } = unpackFrame<KeyFacts>(subject, found.data)
      // An attempt of our own whose answer was lost.
      if (facts.run_id === run_id) return null
      if (await this.#isMade(facts.run_id)) return asExisting(facts, fingerprint)
      // Exactly this one: by now the key may belong to another run.
      await this.#broker.erase("keys", subject, found.seq)
    }
  }

  /** Whether a run whose key is there has been made. If its creator does not come back, it will never be made. */
  async #isMade(run_id: string): Promise<boolean> {
    const deadline = this.#broker.now() + creatorMs
    for (let pause = 5; this.#broker.now() < deadline; pause = Math.min(pause * 2, 200)) {
      const head = await this.#reader.slot(run_id, 0, "sure")
      if (head !== null) return head.facts.kind === "head"
      await this.#broker.pause(pause)
    }
    return !(await this.#open.makeVoid(run_id))
  }
}

function asExisting(facts: KeyFacts, fingerprint: string): ExistingRun {
  return { outcome: facts.fingerprint === fingerprint ? "exists" : "conflict", run_id: facts.run_id }
}
