import assert from "node:assert/strict"
import { execFileSync, spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { chownSync, mkdtempSync, rmSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { created, happened, ids } from "../contract/run-store/material.ts"
import { freePorts } from "../support/nats-server.ts"
import { account, postgresPrograms, startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"
import { within } from "../support/within.ts"

interface Standby {
  readonly port: number
  promote(): void
  close(): Promise<void>
}

async function startStandby(primary: PostgresServer): Promise<Standby> {
  const [bin, as] = [postgresPrograms(), account()]
  const folder = mkdtempSync(join(tmpdir(), "wireworks-standby-"))
  if (as.uid !== undefined && as.gid !== undefined) chownSync(folder, as.uid, as.gid)
  const data = join(folder, "data")
  const options = { ...as, cwd: folder, stdio: "ignore" } as const
  execFileSync(join(bin, "pg_basebackup"), ["-d", primary.url(), "-D", data, "-R", "-X", "stream"], options)
  const [port = 0] = await freePorts(1)
  const args = ["-D", data, "-h", "127.0.0.1", "-p", String(port), "-k", "", "-c", "max_connections=200"]
  const child: ChildProcess = spawn(join(bin, "postgres"), args, options)
  const synchronous = async (): Promise<void> => {
    await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await primary.query("SELECT pg_reload_conf()")
    while ((await primary.query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")).length === 0) {
      await sleep(100)
    }
  }
  await within(60_000, "a standby that follows", synchronous())
  return {
    port,
    promote: () => void execFileSync(join(bin, "pg_ctl"), ["promote", "-D", data], options),
    async close() {
      const gone = once(child, "exit")
      child.kill("SIGQUIT")
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

test("a standby takes over under the same name: nothing that was acknowledged is lost, and all runs go on", async (t) => {
  const primary = await startPostgres({ config: ["wal_level=replica", "hot_standby=on"] })
  t.after(() => primary.close())
  const standby = await startStandby(primary)
  t.after(() => standby.close())
  let target = primary.port
  const name = createServer((near) => {
    const far = connect(target, "127.0.0.1")
    near.pipe(far).pipe(near)
    near.on("error", () => far.destroy()).on("close", () => far.destroy())
    far.on("error", () => near.destroy()).on("close", () => near.destroy())
  })
  name.listen(0, "127.0.0.1")
  await once(name, "listening")
  t.after(() => name.close())
  const address = name.address()
  assert.ok(address !== null && typeof address === "object")
  const open = postgresStores(primary.url().replace(`:${primary.port}/`, `:${address.port}/`), systemClock)
  const stores = [await open(), await open()] as const
  t.after(() => Promise.all(stores.map((store) => store.close())))

  const acknowledged = new Map<string, number>()
  let stopped = false
  const total = () => [...acknowledged.values()].reduce((sum, last) => sum + last, 0)
  const more = async (count: number): Promise<void> => {
    for (const from = total(); !stopped && total() < from + count;) await sleep(20)
  }
  const runs = Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      const store = n % 2 === 0 ? stores[0] : stores[1]
      const lease = await created(store, {}, 600_000)
      for (let id = 1; !stopped; id++) {
        await store.append(lease, [happened(id)])
        acknowledged.set(lease.run_id, id)
      }
    }),
  )
  const going = async (): Promise<void> => {
    await more(200)
    await primary.kill("SIGKILL")
    standby.promote()
    target = standby.port
    await more(500)
  }
  try {
    await Promise.race([within(120_000, "runs that go on", going()), runs])
  } finally {
    stopped = true
  }
  await runs
  for (const [run_id, last] of acknowledged) {
    const found: number[] = []
    for (;;) {
      const page = await ids(stores[0], run_id, found.at(-1) ?? 0)
      if (page.length === 0) break
      found.push(...page)
    }
    assert.deepEqual(
      found,
      Array.from({ length: last }, (_, index) => index + 1),
    )
  }
})
