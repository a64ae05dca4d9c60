import { StoreFailure, type RunStore } from "../../ports/store.ts"
import { isUnder, type KeyChange, type MasterKey } from "../../ports/vault.ts"
import { untilClosed } from "../../ports/wrap-store.ts"
import type { BrokerAddress, BrokerProofs } from "./address.ts"
import { reasonOf } from "./broker-error.ts"
import { Broker, type BrokerHealth } from "./broker.ts"
import { changeKey, noKeyToChange, noRuns, otherKey, readKeyRecord } from "./key-record.ts"
import { namesOf } from "./names.ts"
import { NatsStore, type StoreParts } from "./nats-store.ts"
import { ensureStreams, infoOf } from "./streams.ts"

export interface BrokerPlace {
  readonly address: BrokerAddress
  readonly proofs: BrokerProofs
  readonly prefix: string
}

export interface NatsStoreOptions extends StoreParts, BrokerPlace {
  /** A sentence for the operator. */
  readonly remark: (sentence: string) => void
}

/** A store that knows how its broker is. */
export interface ClusterStore extends RunStore {
  readonly health: BrokerHealth
}

/** Connects, and makes the streams that are not there. Rejects with a `StoreFailure` that says what to do. */
export async function openNatsStore(options: NatsStoreOptions): Promise<ClusterStore> {
  const broker = await Broker.connect(options.address, options.proofs, namesOf(options.prefix))
  try {
    const nodes = { clustered: broker.clustered, named: options.address.servers.length }
    const remarks = await ensureStreams(broker.transport.manager, broker.names, options.sizes, nodes)
    for (const sentence of remarks) options.remark(sentence)
    const store = new NatsStore(broker, options)
    await store.agreeOnKeys()
    return {
      ...untilClosed(store),
      get health() {
        return broker.health
      },
    }
  } catch (error) {
    await broker.close()
    if (error instanceof StoreFailure) throw error
    throw new StoreFailure(
      `The broker at ${options.address.servers.join(", ")} cannot be used: ${reasonOf(error)}`,
      error,
    )
  }
}

/** Whether the runs in the broker are under this key; a `StoreFailure` says why not. */
export function checkKey(options: BrokerPlace & { readonly masterKey: MasterKey }): Promise<void> {
  return connected(options, async (broker, isNew) => {
    const found = isNew ? null : await readKeyRecord(broker)
    if (found === null)
      throw new StoreFailure(
        `${noRuns(options.prefix)}. If no service has started on it yet, there is nothing to check`,
      )
    if (!isUnder(found.record, options.masterKey)) throw new StoreFailure(otherKey)
  })
}

/** Puts the keys of the store under another master key, while replicas may run. Rejects with a `StoreFailure`. */
export function changeNatsKey(place: BrokerPlace, change: KeyChange): Promise<"changed" | "changed before"> {
  return connected(place, async (broker, isNew) => {
    if (isNew) throw new StoreFailure(noKeyToChange(place.prefix))
    return changeKey(broker, change)
  })
}

/** `isNew`: no service has ever used the broker under this prefix. */
async function connected<T>(place: BrokerPlace, use: (broker: Broker, isNew: boolean) => Promise<T>): Promise<T> {
  const broker = await Broker.connect(place.address, place.proofs, namesOf(place.prefix))
  try {
    const rows = await infoOf(broker.transport.manager, broker.names.stream("rows"))
    return await use(broker, rows === null)
  } catch (error) {
    if (error instanceof StoreFailure) throw error
    throw new StoreFailure(`The broker cannot be read: ${reasonOf(error)}`, error)
  } finally {
    await broker.close()
  }
}
