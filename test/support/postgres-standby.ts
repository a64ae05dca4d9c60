import { execFileSync, spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { chownSync, mkdtempSync, rmSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePorts } from "./free-ports.ts"
import { account, postgresPrograms, startPostgres, type PostgresServer } from "./postgres-server.ts"
import { within } from "./within.ts"

/** A server with a synchronous standby, under a name that leads to the one that takes writes. */
export interface ServerPair {
  /** By that name. */
  readonly url: string
  /** The server is killed, the standby takes over, and the name leads to it. */
  failOver(): Promise<void>
  /** Asks the one that takes writes. */
  query(sql: string): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

export async function startServerPair(): Promise<ServerPair> {
  const primary = await startPostgres({ config: ["wal_level=replica", "hot_standby=on"] })
  const standby = await startStandby(primary)
  let target = primary.port
  const name = createServer((near) => {
    const far = connect(target, "127.0.0.1")
    near.pipe(far).pipe(near)
    near.on("error", () => far.destroy()).on("close", () => far.destroy())
    far.on("error", () => near.destroy()).on("close", () => near.destroy())
  })
  name.listen(0, "127.0.0.1")
  await once(name, "listening")
  const address = name.address()
  if (address === null || typeof address === "string") throw new Error("The name has no port")
  const { port } = address
  const urlAt = (at: number): string => primary.url().replace(`:${primary.port}/`, `:${at}/`)
  return {
    url: urlAt(port),
    async failOver() {
      await primary.kill("SIGKILL")
      standby.promote()
      target = standby.port
    },
    query: (sql) => primary.query(sql, undefined, target),
    async close() {
      name.close()
      await standby.close()
      await primary.close()
    },
  }
}

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
