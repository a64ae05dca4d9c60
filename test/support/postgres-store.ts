import { randomBytes } from "node:crypto"
import { readAddress } from "../../src/adapters/postgres/address.ts"
import { openPostgresStore, type PostgresStoreOptions } from "../../src/adapters/postgres/open-postgres-store.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import type { Clock } from "../../src/ports/clock.ts"
import type { RunStore } from "../../src/ports/store.ts"

/** Stores that share a schema and a key, and nothing else. */
export function postgresStores(
  url: string,
  clock: Clock,
  schema = `t${randomBytes(6).toString("hex")}`,
): (more?: Partial<PostgresStoreOptions>) => Promise<RunStore> {
  const read = readAddress(url)
  if (!read.ok) throw new Error(`${url} ${read.must}`)
  const masterKey = createMasterKey(randomBytes(32))
  return (more = {}) =>
    openPostgresStore({
      address: read.address,
      proofs: { ca: null, cert: null, key: null },
      schema,
      masterKey,
      clock,
      warn: () => undefined,
      erasePaths: ["input.customer"],
      tombstoneMs: 30 * 24 * 3_600_000,
      ...more,
    })
}
