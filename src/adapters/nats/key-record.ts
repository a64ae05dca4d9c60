import { isStoreTrouble, StoreFailure } from "../../ports/store.ts"
import { isUnder, type KeyChange, type KeyRecord, type MasterKey, type Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"

/** How often a replica looks whether the master key was changed. */
const lookMs = 2_000

/** What the broker remembers of the keys; null before it does. */
export async function readKeyRecord(
  broker: Broker,
): Promise<{ readonly record: KeyRecord; readonly seq: number } | null> {
  const stored = await broker.row(broker.names.mark)
  if (stored === null) return null
  const [mark, ring] = unpackFrame(stored.subject, stored.data).parts
  if (mark === undefined || ring === undefined) throw new StoreFailure(developmentVersion)
  return { record: { mark, ring }, seq: stored.seq }
}

/** Puts the keys under another master key. Replicas with the key before take no more runs. Rejects with a `StoreFailure`. */
export async function changeKey(broker: Broker, change: KeyChange): Promise<"changed" | "changed before"> {
  for (;;) {
    const found = await readKeyRecord(broker)
    if (found === null) throw new StoreFailure(noKeyToChange(broker.names.prefix))
    const next = change(found.record, null)
    if (next === null) throw new StoreFailure(otherKey)
    if (next === found.record) return "changed before"
    const write = { subject: broker.names.mark, data: packRecord(next), expected: found.seq, replaces: true } as const
    if ((await broker.write([write])) !== null) return "changed"
  }
}

function packRecord({ mark, ring }: KeyRecord): Uint8Array {
  return packFrame({}, [mark, ring])
}

/** The keys of the store, as long as this process has the master key that wraps them. */
export class WatchedVault implements Vault {
  readonly #broker: Broker
  readonly #masterKey: MasterKey
  readonly stop: () => void
  #vault: Vault | null = null
  /** As it is wrapped. */
  #ring: Uint8Array = new Uint8Array()
  #refusal: string | null = null

  constructor(broker: Broker, masterKey: MasterKey, everyMs = lookMs) {
    this.#broker = broker
    this.#masterKey = masterKey
    this.stop = broker.every(everyMs, () => void this.#lookAgain())
  }

  /** Why this process cannot begin runs, nor read those of other processes; null when it can. */
  get refusal(): string | null {
    return this.#refusal
  }

  /** The first process makes the keys. Rejects with a `StoreFailure` where another master key wrapped them. */
  async agree(): Promise<void> {
    const record = packRecord(this.#masterKey.newRecord())
    await this.#broker.write([{ subject: this.#broker.names.mark, data: record, expected: 0 }])
    const refusal = await this.look()
    if (refusal !== null) throw new StoreFailure(refusal)
  }

  /** Asks the broker for its record. Gives the refusal from now on. */
  async look(): Promise<string | null> {
    const found = await readKeyRecord(this.#broker)
    if (found === null) throw new StoreFailure("What the broker remembers of the key was deleted: start again")
    this.#refusal = isUnder(found.record, this.#masterKey) ? null : otherKey
    if (this.#refusal === null && Buffer.compare(found.record.ring, this.#ring) !== 0) {
      this.#vault = this.#masterKey.unlock(found.record)
      this.#ring = found.record.ring
    }
    return this.#refusal
  }

  digest(purpose: string, parts: readonly string[]): Uint8Array {
    return this.#opened().digest(purpose, parts)
  }

  /** With the key before, this process finishes its runs, but begins none: a copy of the store and that key would open them. */
  newKey(about: string): ReturnType<Vault["newKey"]> {
    if (this.#refusal !== null) throw new StoreFailure(this.#refusal)
    return this.#opened().newKey(about)
  }

  openKey(about: string, wrapped: Uint8Array): ReturnType<Vault["openKey"]> {
    return this.#opened().openKey(about, wrapped)
  }

  seal(about: string, text: string): Uint8Array {
    return this.#opened().seal(about, text)
  }

  open(about: string, sealed: Uint8Array): string {
    return this.#opened().open(about, sealed)
  }

  #opened(): Vault {
    if (this.#vault === null) throw new StoreFailure("The keys of the store were not read yet")
    return this.#vault
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.look()
    } catch (error) {
      // The next look may find the broker again.
      if (!isStoreTrouble(error)) throw error
    }
  }
}

export function noRuns(prefix: string): string {
  return `There are no runs of this service in the broker under the prefix "${prefix}": check WIRE_NATS_PREFIX`
}

export function noKeyToChange(prefix: string): string {
  return `${noRuns(prefix)}. If there were none yet, start the service with the new key`
}

export const otherKey =
  "WIRE_ENCRYPTION_KEY is not the key of the runs in the broker: it was changed, or this replica was given another one. All replicas need the same key; " +
  "until it is restarted with that one, this one takes no runs. To change the key: wire store change-key"

const developmentVersion =
  "The runs in the broker were stored by a development version of this service; start that version to finish them, or set WIRE_NATS_PREFIX to another prefix"
