import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { readAddress } from "../../src/adapters/postgres/address.ts"
import { PostgresLeaseRules } from "../../src/adapters/postgres/lease-rules.ts"
import type { RunStore } from "../../src/ports/store.ts"
import type { ClaimOperation } from "../../src/store/operations.ts"
import { all, type Row, type Steps } from "../../src/store/sql.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"
import { emptiedTables } from "../support/emptied-tables.ts"
import { Random } from "../support/random.ts"
import { startProxy, type Passage } from "../support/tcp-proxy.ts"
import { replay, SetClock, type Replica } from "./replay.ts"
import type { Replays } from "./replays.ts"

/** By then a message has reached the server. */
const arrivalMs = 20

/** Leases run out as they do in the memory store, whose calls are made again: a process does not have to watch them first. */
class ComparedLeases extends PostgresLeaseRules {
  override *lapsed({ now }: ClaimOperation, limit: number): Steps<readonly Row[]> {
    return yield* all(
      `SELECT num, run_id, fence, owner FROM runs WHERE finished_at IS NULL AND waiting = 0 AND woken_at IS NULL
       AND lease_until <= ? ORDER BY num LIMIT ?`,
      now,
      limit,
    )
  }
}

/** Histories that are made again at the same time. Each waits for the server most of the time. */
const lanes = 4

/** On a real server, with three processes that have the runs of different owners. The connections of one of them break. */
export async function replaysOnPostgres(): Promise<Replays> {
  // A machine that loses power is not what this is about.
  const server = await startPostgres({
    config: ["fsync=off", "synchronous_commit=off", "full_page_writes=off"],
    inMemory: true,
  })
  let opened = 0
  const all: Lane[] = []
  const free: Lane[] = []
  return {
    beside: lanes,
    problems: async (history) => {
      let lane = free.pop()
      if (lane === undefined) {
        lane = await openLane(server, `simulation${opened++}`)
        all.push(lane)
      }
      try {
        return await lane.problems(history)
      } finally {
        free.push(lane)
      }
    },
    close: async () => {
      await Promise.all(all.map((lane) => lane.close()))
      await server.close()
    },
  }
}

/** One history at a time, in a schema of its own. */
type Lane = Pick<Replays, "problems" | "close">

async function openLane(server: PostgresServer, schema: string): Promise<Lane> {
  const clock = new SetClock()
  /** What the proxy does to the next messages of that process. */
  let watch: (sent: string) => Passage = () => "pass"
  const proxy = await startProxy(server.port, (sent) => watch(sent))
  const open = postgresStores(server.url(), clock, schema)
  const throughProxy = readAddress(server.url().replace(`:${server.port}/`, `:${proxy.port}/`))
  if (!throughProxy.ok) throw new Error(throughProxy.must)
  const rules = (holder: number, lockClass: number): PostgresLeaseRules => new ComparedLeases(holder, lockClass)
  const cutOff = await open({ rules, address: throughProxy.address })
  const stores = [await open({ rules }), cutOff, await open({ rules })]
  const cleaner = new pg.Client({ connectionString: server.url() })
  await cleaner.connect()
  await cleaner.query(`SET search_path TO ${schema}`)

  /** A process is the only one that writes to the runs that it owns. Null: any process may make the call. */
  const storeOf = (owner: string | null): RunStore | null =>
    owner === null ? null : (stores[owner.charCodeAt(owner.length - 1) % stores.length] ?? null)

  /** Cuts the connection at one of the messages that a write sends: before it, or after it has reached the server. */
  const disturb = async (write: (store: RunStore) => Promise<unknown>, random: Random): Promise<unknown> => {
    const passage = random.pick(["cut", "pass, then cut"] as const)
    let left = random.below(6)
    watch = (sent) => {
      // The last one of a transaction is where it matters most.
      if (left-- > 0 && !sent.includes("COMMIT")) return "pass"
      watch = () => "pass"
      void sleep(arrivalMs).then(() => proxy.restore())
      return passage
    }
    try {
      return await write(cutOff)
    } finally {
      watch = () => "pass"
    }
  }

  return {
    problems: async ({ seed, trace, store, end }) => {
      const random = new Random(seed)
      // Places of secrets' keys are only added; sometimes there are none yet.
      const places = random.chance(0.3)
        ? "DELETE FROM secret_keys"
        : "UPDATE secret_keys SET taken = 0 WHERE taken <> 0"
      await cleaner.query([...emptiedTables.map((table) => `DELETE FROM ${table}`), places].join(";"))
      const replica: Replica = {
        storeOf: (owner) => storeOf(owner) ?? random.pick(stores),
        trouble: (owner, write) => ((storeOf(owner) ?? cutOff) === cutOff ? disturb(write, random) : null),
      }
      const troubleAt = random.chance(0.5) ? random.below(trace.length) : null
      return (await replay(trace, store, replica, clock, end, troubleAt)).map((problem) => `on PostgreSQL: ${problem}`)
    },
    close: async () => {
      await Promise.all(stores.map((one) => one.close()))
      await cleaner.end()
      await proxy.close()
    },
  }
}
