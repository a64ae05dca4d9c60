import { randomBytes } from "node:crypto"
import { readAddress } from "../../src/adapters/postgres/address.ts"
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from "../../src/adapters/postgres/open-postgres-store.ts"
import { createVault } from "../../src/adapters/vault/vault.ts"
import type { Clock } from "../../src/ports/clock.ts"

/** Stores that share a schema and a key, and nothing else. */
export function postgresStores(
  url: string,
  clock: Clock,
  schema = `t${randomBytes(6).toString("hex")}`,
): (more?: Partial<PostgresStoreOptions>) => Promise<PostgresStore> {
  const read = readAddress(url)
  if (!read.ok) throw new Error(`${url} ${read.must}`)
  const vault = createVault(randomBytes(32))
  return (more = {}) =>
    openPostgresStore({
      address: read.address,
      proofs: { ca: null, cert: null, key: null },
      schema,
      vault,
      clock,
      warn: () => undefined,
      tombstoneMs: 30 * 24 * 3_600_000,
      ...more,
    })
}
