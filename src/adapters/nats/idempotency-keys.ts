import type { ExistingRun, Idempotency } from "../../ports/store.ts"
import type { Clock } from "../../ports/clock.ts"
import type { Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import type { LogReader } from "./log-reader.ts"
import { dayOf, tokenOf } from "./names.ts"
import type { OpenRuns } from "./open-runs.ts"
import type { HeadFacts } from "./slot.ts"

/** How long a key whose run is not there yet is left to its creator. */
const creatorMs = 3_000

/** The value that is stored under a key. */
interface KeyFacts {
  readonly run_id: string
  readonly fingerprint: string
  /** It outlives its run until then. */
  readonly until?: number
}

/** A key and the request that it came with, by their keyed hashes. */
export interface KeyTokens {
  readonly caller: string
  readonly once: string
  readonly fingerprint: string
}

/** Idempotency keys: subjects that are written once. */
export class IdempotencyKeys {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #open: OpenRuns
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(broker: Broker, reader: LogReader, open: OpenRuns, vault: Vault, clock: Clock) {
    this.#clock = clock
    this.#broker = broker
    this.#reader = reader
    this.#open = open
    this.#vault = vault
  }

  tokens(caller: string, { key, fingerprint }: Idempotency): KeyTokens {
    return {
      caller,
      once: tokenOf(this.#vault.digest("idempotency", [caller, key])),
      fingerprint: tokenOf(this.#vault.digest("fingerprint", [caller, key, fingerprint])),
    }
  }

  /** The run that a key belongs to; null without one. */
  async find(tokens: KeyTokens): Promise<ExistingRun | null> {
    const found = await this.#broker.get("keys", this.#broker.names.once(tokens.once), "sure")
    if (found === null) return null
    const { facts } = unpackFrame<KeyFacts>(found.subject, found.data)
    const head = await this.#reader.slot(facts.run_id, 0, "sure")
    if (head?.facts.kind === "head") return asExisting(facts, tokens, head.facts)
    return this.#isRemembered(facts) && (await this.#isGone(facts.run_id)) ? withoutRun(facts, tokens) : null
  }

  #isRemembered({ until }: KeyFacts): boolean {
    return until !== undefined && until > this.#clock.now()
  }

  /** Deleted by retention or by request, and not just made. */
  async #isGone(run_id: string): Promise<boolean> {
    return (await this.#broker.get("gone", this.#broker.names.gone(run_id), "sure")) !== null
  }

  /** Null: the key is ours. */
  async take(tokens: KeyTokens, run_id: string, until: number | null): Promise<ExistingRun | null> {
    const { once, fingerprint } = tokens
    const { names } = this.#broker
    const subject = names.once(once)
    const own: KeyFacts = { run_id, fingerprint, ...(until !== null && { until }) }
    // First, so that a sweep finds every key that outlives its run.
    if (until !== null) await this.#broker.put(names.keyUntil(dayOf(until), once), new Uint8Array())
    for (;;) {
      if ((await this.#broker.putOnce(subject, packFrame(own, []))) !== null) return null
      const found = await this.#broker.getFromLeader("keys", subject)
      // Retention took it between the two.
      if (found === null) continue
      const { facts } = unpackFrame<KeyFacts>(subject, found.data)
      // An attempt of our own whose answer was lost.
      if (facts.run_id === run_id) return null
      if (facts.until !== undefined && (await this.#isGone(facts.run_id))) {
        if (this.#isRemembered(facts)) return withoutRun(facts, tokens)
        await this.#broker.erase("keys", subject, found.seq)
        continue
      }
      const made = await this.#made(facts.run_id)
      if (made !== null) return asExisting(facts, tokens, made)
      // Exactly this one: by now the key may belong to another run.
      await this.#broker.erase("keys", subject, found.seq)
    }
  }

  /** The head of a run whose key is there; null for one that was not made. If its creator does not come back, it will never be made. */
  async #made(run_id: string): Promise<HeadFacts | null> {
    const deadline = this.#broker.now() + creatorMs
    for (let pause = 5; this.#broker.now() < deadline; pause = Math.min(pause * 2, 200)) {
      const head = await this.#reader.slot(run_id, 0, "sure")
      if (head !== null) return head.facts.kind === "head" ? head.facts : null
      await this.#broker.pause(pause)
    }
    if (await this.#open.makeVoid(run_id)) return null
    const head = await this.#reader.slotFromLeader(run_id, 0)
    return head?.facts.kind === "head" ? head.facts : null
  }
}

/** Its run is gone, and with it the name of the caller; the key itself is one of that caller. */
function withoutRun({ run_id, fingerprint }: KeyFacts, tokens: KeyTokens): ExistingRun {
  return { outcome: fingerprint === tokens.fingerprint ? "exists" : "conflict", run_id }
}

/** A key that leads to the run of another caller was put there by somebody else. */
function asExisting({ run_id, fingerprint }: KeyFacts, tokens: KeyTokens, head: HeadFacts): ExistingRun {
  const same = fingerprint === tokens.fingerprint && head.caller === tokens.caller
  return { outcome: same ? "exists" : "conflict", run_id }
}
