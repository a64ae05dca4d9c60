import { StoreFailure, type RunStore } from "../../ports/store.ts"
import { missingKey, type KeyChange } from "../../ports/vault.ts"
import { untilClosed } from "../../ports/wrap-store.ts"
import type { BrokerAddress, BrokerProofs } from "./address.ts"
import { Broker, type BrokerHealth } from "./broker.ts"
import { NatsKeyChange } from "./key-change.ts"
import { agreeOnKeys, keySentence, readKeyRecord } from "./key-record.ts"
import { namesOf } from "./names.ts"
import { NatsStore, type StoreParts } from "./nats-store.ts"
import { ensureStreams } from "./streams.ts"

export interface NatsStoreOptions extends StoreParts {
  readonly address: BrokerAddress
  readonly proofs: BrokerProofs
  readonly prefix: string
  /** After how long every replica has seen a change of the master key. Differs only in tests. */
  readonly settledAfterMs?: number
  /** A sentence for the operator. */
  readonly remark: (sentence: string) => void
}

/** A store that knows how its broker is. */
export interface ClusterStore extends RunStore {
  readonly health: BrokerHealth
  /** Null when nothing needs another key than the one that writes. */
  readonly keyChange: KeyChange | null
}

/** Connects, and makes the streams that are not there. Rejects with a `StoreFailure` that says what to do. */
export async function openNatsStore(options: NatsStoreOptions): Promise<ClusterStore> {
  const broker = await Broker.connect(options.address, options.proofs, namesOf(options.prefix))
  try {
    const nodes = { clustered: broker.clustered, named: options.address.servers.length }
    const remarks = await ensureStreams(broker.transport.manager, broker.names, options.sizes, nodes)
    for (const sentence of remarks) options.remark(sentence)
    const { old } = await agreeOnKeys(broker, options.vault)
    const keyChange = old === null ? null : new NatsKeyChange(broker, options.vault, options.settledAfterMs)
    return {
      ...untilClosed(new NatsStore(broker, options)),
      keyChange,
      get health() {
        return broker.health
      },
    }
  } catch (error) {
    await broker.close()
    if (error instanceof StoreFailure) throw error
    throw new StoreFailure(
      `The broker at ${options.address.servers.join(", ")} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      error,
    )
  }
}

/** How many things in the broker need the key before. Rejects with a `StoreFailure` that says which key is missing. */
export async function countUnderOldKey(
  options: Pick<NatsStoreOptions, "address" | "proofs" | "prefix" | "vault">,
): Promise<number> {
  const broker = await Broker.connect(options.address, options.proofs, namesOf(options.prefix))
  try {
    const found = await readKeyRecord(broker)
    if (found === null) return 0
    const missing = missingKey(found.record, options.vault.marks)
    if (missing !== null) throw new StoreFailure(keySentence(missing))
    options.vault.agree(found.record, "begin")
    return await new NatsKeyChange(broker, options.vault).count()
  } catch (error) {
    if (error instanceof StoreFailure) throw error
    throw new StoreFailure(
      `The broker cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      error,
    )
  } finally {
    await broker.close()
  }
}
