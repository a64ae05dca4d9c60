import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import type { Clock } from "../../ports/clock.ts"
import { StoreFailure, type RunStore } from "../../ports/store.ts"
import type { MasterKey, Vault } from "../../ports/vault.ts"
import { untilClosed } from "../../ports/wrap-store.ts"
import { CommitQueue } from "../../store/commit-queue.ts"
import type { News } from "../../store/sql-medium.ts"
import { SqlStore } from "../../store/sql-store.ts"
import type { PostgresAddress, PostgresProofs } from "./address.ts"
import { TransactionWriter } from "./transaction-writer.ts"
import { Connection, startMs, type ServerTarget } from "./connection.ts"
import { countProcesses, PostgresLeaseRules } from "./lease-rules.ts"
import { Listener } from "./listener.ts"
import { PostgresMedium } from "./postgres-medium.ts"
import { addressOf, channelOf, processLocks, writeLock } from "./names.ts"
import { failureOf } from "./postgres-error.ts"
import { Reads } from "./reads.ts"
import { inspectServer, migrate, unlock } from "./schema.ts"

export interface PostgresStoreOptions {
  readonly address: PostgresAddress
  readonly proofs: PostgresProofs
  readonly schema: string
  readonly masterKey: MasterKey
  readonly clock: Clock
  /** Hears of what differs from what the service expects: a sentence for the operator each. */
  readonly warn: (sentence: string) => void
  /** How often to look for what other processes did and no announcement told of. */
  readonly pollMs?: number
  readonly tombstoneMs: number
  /** Paths of inputs by whose values runs can be found to be erased. */
  readonly erasePaths?: readonly string[]
  /** How this process tells whose lease has run out, where not by watching it. */
  readonly rules?: (holder: number, lockClass: number) => PostgresLeaseRules
}

/** Rows of processes that have written nothing for so long are deleted. */
const forgottenWriters = "7 days"

/** A store that other processes may have open, too. */
export interface SharedStore extends RunStore {
  /** How many processes have it open. */
  processes(): Promise<number>
}

/** Opens the store, or makes it. Rejects with a `StoreFailure` that says what to do. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<SharedStore> {
  const { address, proofs, schema } = options
  const target: ServerTarget = { address, proofs, schema }
  const where = addressOf(target)
  let setup: Connection | null = null
  try {
    setup = await Connection.open(target, "setup", { withinMs: startMs })
    return await open(options, target, where, setup)
  } catch (error) {
    throw failureOf(where, error)
  } finally {
    await setup?.close()
  }
}

async function open(
  { schema, masterKey, clock, warn, pollMs, tombstoneMs, erasePaths = [], ...options }: PostgresStoreOptions,
  target: ServerTarget,
  where: string,
  setup: Connection,
): Promise<SharedStore> {
  for (const sentence of await inspectServer(where, setup)) warn(sentence)
  const channel = channelOf(schema)
  // Before anything is made: through such a proxy a statement may reach another session than the settings before it.
  await checkSessions(where, target, setup, channel)
  const lock = writeLock(schema)
  const lockClass = processLocks(schema)
  await migrate(where, setup, { schema, lock, record: masterKey.newRecord() })
  const writer = await addWriter(setup)
  const rules = options.rules?.(writer, lockClass) ?? new PostgresLeaseRules(writer, lockClass)
  const onTrouble = (): void => rules.startAnew()
  const told: { hear: (news: News) => void } = { hear: () => undefined }
  const listener = await Listener.open({ target, channel, writer, lockClass, onTrouble }, (news) => told.hear(news))
  const queue = new CommitQueue(new TransactionWriter({ target, where, channel, lock, writer, rules, onTrouble }))
  const medium = new PostgresMedium(queue, new Reads(target, where, onTrouble), listener)
  told.hear = (news) => medium.announce(news)
  try {
    const vault = await unlockAlone(where, setup, lock, masterKey)
    const looks = { pollMs: pollMs ?? 2_000, thoroughEvery: 5 }
    const store = new SqlStore(medium, vault, clock, { ...looks, tombstoneMs, erasePaths })
    return Object.assign(untilClosed(store), { processes: () => medium.read(countProcesses(lockClass)) })
  } catch (error) {
    await medium.close()
    throw error
  }
}

/** Announcements, prepared statements and settings belong to a session of the server. */
async function checkSessions(where: string, target: ServerTarget, setup: Connection, channel: string): Promise<void> {
  const other = await Connection.open(target, "setup", { withinMs: startMs })
  try {
    const heard = new Promise<true>((resolve) => other.onNotification(() => resolve(true)))
    await other.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    await setup.query("SELECT pg_notify($1, $2)", [channel, "0 e"])
    if (await Promise.race([heard, sleep(startMs, false, { ref: false })])) return
    throw new StoreFailure(
      `PostgreSQL at ${where} delivers no notifications, as behind PgBouncer in transaction or statement mode: connect to the server itself, ` +
        "or set pool_mode = session",
    )
  } finally {
    await other.close()
  }
}

async function addWriter(setup: Connection): Promise<number> {
  await setup.query(`DELETE FROM writers WHERE seen_at < now() - interval '${forgottenWriters}'`)
  const { rows } = await setup.query<{ readonly num: number }>("INSERT INTO writers DEFAULT VALUES RETURNING num")
  const [row] = rows
  if (row === undefined) throw new Error("The row of this process was not stored")
  return row.num
}

/**
 * The lock of this process is held by now, and keys are read while nobody writes: whoever changes the key either sees this process, or has changed it
 * before.
 */
async function unlockAlone(
  where: string,
  setup: Connection,
  lock: readonly [number, number],
  masterKey: MasterKey,
): Promise<Vault> {
  await setup.query("BEGIN")
  await setup.query("SELECT pg_advisory_xact_lock($1, $2)", lock)
  const vault = await unlock(where, setup, masterKey)
  await setup.query("ROLLBACK")
  return vault
}
