import { randomBytes } from "node:crypto"
import type { TestContext } from "node:test"
import { readAddress } from "../../src/adapters/nats/address.ts"
import { Broker } from "../../src/adapters/nats/broker.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import { openNatsStore, type ClusterStore, type NatsStoreOptions } from "../../src/adapters/nats/open-nats-store.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import type { Clock } from "../../src/ports/clock.ts"
import { ManualClock } from "./manual-clock.ts"

export const defaultSizes = {
  replicas: null,
  max_bytes: 0,
  cacheBytes: 0,
  cacheAgeMs: 3_600_000,
  tombstoneMs: 30 * 24 * 3_600_000,
} as const

export const noProofs = { creds: null, ca: null, cert: null, key: null } as const

/** Stores that share a broker and a key, and nothing else. */
export function natsStores(url: string, clock: Clock): (more?: Partial<NatsStoreOptions>) => Promise<ClusterStore> {
  const read = readAddress(url)
  if (!read.ok) throw new Error(`${url} ${read.must}`)
  const prefix = `t${randomBytes(6).toString("hex")}`
  const masterKey = createMasterKey(randomBytes(32))
  return (more = {}) =>
    openNatsStore({
      address: read.address,
      proofs: noProofs,
      prefix,
      sizes: defaultSizes,
      masterKey,
      clock,
      remark: () => undefined,
      ...more,
    })
}

/** Two stores on streams of their own, and a connection that writes to the streams by hand. */
export async function storesWithConnection(t: TestContext, url: string) {
  const read = readAddress(url)
  if (!read.ok) throw new Error(`${url} ${read.must}`)
  const clock = new ManualClock()
  const prefix = `t${randomBytes(6).toString("hex")}`
  const names = namesOf(prefix)
  const open = natsStores(url, clock)
  const [holder, claimant] = [await open({ prefix }), await open({ prefix })]
  const other = await Broker.connect(read.address, noProofs, names)
  t.after(() => Promise.all([holder.close(), claimant.close(), other.close()]))
  return { clock, names, holder, claimant, other }
}
