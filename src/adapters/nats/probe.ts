import { StoreFailure } from "../../ports/store.ts"
import { holdMs, type Broker } from "./broker.ts"
import type { WatchedVault } from "./key-record.ts"
import type { Leases } from "./leases.ts"

const probeMs = 800
const probeBytes = 64 * 1024

/** Rejects when the broker cannot store anything now. */
export async function probe(broker: Broker, vault: WatchedVault, leases: Leases): Promise<void> {
  if (!broker.health.connected) throw new StoreFailure("The broker is unreachable")
  if (vault.refusal !== null) throw new StoreFailure(vault.refusal)
  const stored = broker.isFull ? findRoom(broker, leases.session) : leases.say()
  // A caller waits for the answer: a write that takes longer counts as failed.
  stored.catch(() => undefined)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreFailure("The broker does not answer")), probeMs)
  })
  await Promise.race([stored, late]).finally(() => clearTimeout(timer))
}

/** Leases have a stream of their own, which is never full. This writes as much to the stream of runs as an answer takes. */
async function findRoom(broker: Broker, session: string): Promise<void> {
  const subject = broker.names.piece("probe", session, 0)
  await broker.put(subject, Buffer.alloc(probeBytes), holdMs.parting)
  await broker.purge("rows", subject)
  broker.foundRoom()
}
