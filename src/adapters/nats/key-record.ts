import { StoreFailure } from "../../ports/store.ts"
import { missingKey, type KeyRecord, type MissingKey, type Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"

interface KeyFacts {
  /** Mark of the key before, in Base64, while something may still need it. */
  readonly old?: string
}

export interface StoredRecord {
  readonly record: KeyRecord
  readonly seq: number
}

/** What the broker remembers of the keys; null before it does. */
export async function readKeyRecord(broker: Broker): Promise<StoredRecord | null> {
  const stored = await broker.getFromLeader("keys", broker.names.mark)
  if (stored === null) return null
  const { facts, parts } = unpackFrame<KeyFacts>(stored.subject, stored.data)
  const [mark = new Uint8Array(0), digest = null] = parts
  const old = facts.old === undefined ? null : Buffer.from(facts.old, "base64")
  return { record: { mark, old, digest }, seq: stored.seq }
}

/** False: it has changed since. */
export async function writeKeyRecord(broker: Broker, record: KeyRecord, seq: number): Promise<boolean> {
  return (await broker.replace(broker.names.mark, packRecord(record), seq)) !== null
}

/**
 * All processes must have the keys that the broker's runs need. A process with a new one begins to change to it: the others hear of
 * that by `KeyWatch`. Rejects with a `StoreFailure` that says which key is missing.
 */
export async function agreeOnKeys(broker: Broker, vault: Vault): Promise<KeyRecord> {
  await broker.putOnce(broker.names.mark, packRecord(vault.agree(null, "begin")))
  for (;;) {
    const found = await readKeyRecord(broker)
    if (found === null) throw new StoreFailure("What the broker remembers of the key was deleted: start again")
    const missing = missingKey(found.record, vault.marks)
    if (missing !== null) throw new StoreFailure(keySentence(missing))
    const record = vault.agree(found.record, "begin")
    if (record === found.record || (await writeKeyRecord(broker, record, found.seq))) return record
  }
}

function packRecord({ mark, old, digest }: KeyRecord): Uint8Array {
  const facts: KeyFacts = old === null ? {} : { old: Buffer.from(old).toString("base64") }
  return packFrame(facts, digest === null ? [mark] : [mark, digest])
}

/** What to do about a missing key, for the operator. */
export function keySentence(missing: MissingKey): string {
  switch (missing) {
    case "new":
      return (
        "The runs in the broker are being changed from WIRE_ENCRYPTION_KEY to a newer key: restart this replica with " +
        "WIRE_ENCRYPTION_KEY set to the new key and WIRE_ENCRYPTION_KEY_OLD to this one. Until then it takes no runs."
      )
    case "old":
      return (
        "Runs in the broker still need the key that was there before WIRE_ENCRYPTION_KEY: set WIRE_ENCRYPTION_KEY_OLD to it " +
        "until a replica says that the key has been changed."
      )
    case "both":
      return (
        "WIRE_ENCRYPTION_KEY is not the key that the runs in the broker were encrypted with: all replicas need the same " +
        "one. This one takes no runs. To change the key, set WIRE_ENCRYPTION_KEY_OLD to the one that it was before."
      )
  }
}
