import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { findPostgres } from "../../scripts/postgres-server.mjs"
import { memoryFolder } from "./memory-folder.ts"
import { freePorts } from "./free-ports.ts"

// A real PostgreSQL on loopback, in a folder of its own. It refuses to run as root, so that root starts it as another user.

/** The folder of the server's programs. */
export function postgresPrograms(): string {
  const found = findPostgres()
  if (found === null) throw new Error("There is no PostgreSQL server: `npm test -- postgres` gets one")
  return found
}

export interface PostgresServer {
  readonly port: number
  /** Of the superuser of the server, on a database. */
  url(database?: string): string
  /** The end of what it wrote to its log. */
  readonly output: string
  /** Starts it again with what it has stored; resolves when it takes connections. */
  start(): Promise<void>
  kill(signal?: NodeJS.Signals): Promise<void>
  /** As the superuser. The rows of the last statement. `at`: the port of a standby that has taken over. */
  query(sql: string, database?: string, at?: number): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

export interface ServerSettings {
  /** Lines of `postgresql.conf`. */
  readonly config?: readonly string[]
  /** What callers have to show: `trust` for nothing. */
  readonly auth?: "trust" | "scram-sha-256"
  /** An empty folder for the write-ahead log, with segments of 1 MB; without it, the log is beside the data. */
  readonly logFolder?: string
  /** Its files are in memory, where the machine has such a folder. */
  readonly inMemory?: boolean
}

export const superPassword = "super"

export interface Account {
  readonly uid?: number
  readonly gid?: number
}

/** The user that the server runs as. */
export function account(): Account {
  if (process.getuid?.() !== 0) return {}
  for (const name of ["postgres", "nobody"]) {
    const [uid, gid] = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }))
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  }
  throw new Error("Nobody is there that PostgreSQL could run as: it refuses to run as root")
}

export async function startPostgres(settings: ServerSettings = {}): Promise<PostgresServer> {
  const { config = [], auth = "trust", logFolder, inMemory = false } = settings
  const bin = postgresPrograms()
  const as = account()
  const prefix = "wireworks-postgres-"
  const folder = inMemory ? memoryFolder(prefix) : mkdtempSync(join(tmpdir(), prefix))
  const data = join(folder, "data")
  mkdirSync(data)
  chmodSync(folder, 0o711)
  if (as.uid !== undefined && as.gid !== undefined) for (const path of [folder, data]) chownSync(path, as.uid, as.gid)
  const passwordFile = join(folder, "password")
  const written = spawn("/bin/sh", ["-c", `umask 077; echo ${superPassword} > '${passwordFile}'`], { ...as })
  await once(written, "exit")
  const apart = logFolder === undefined ? [] : ["--waldir", logFolder, "--wal-segsize=1"]
  execFileSync(
    join(bin, "initdb"),
    [
      "-D",
      data,
      "-U",
      "super",
      "-A",
      auth,
      "--pwfile",
      passwordFile,
      "-E",
      "UTF8",
      "--no-sync",
      "--locale=C",
      ...apart,
    ],
    { ...as, cwd: folder, stdio: ["ignore", "ignore", "inherit"] },
  )
  const [port = 0] = await freePorts(1)
  const lines = ["shared_buffers=32MB", "max_connections=200", ...config].flatMap((line) => ["-c", line])
  let child: ChildProcess | null = null
  let output = ""

  const url = (database = "postgres", at = port): string =>
    `postgres://super:${superPassword}@127.0.0.1:${at}/${database}`
  const accepts = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: url(), connectionTimeoutMillis: 5_000 })
    client.on("error", () => undefined)
    try {
      await client.connect()
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const server: PostgresServer = {
    port,
    url,
    get output() {
      return output
    },
    async start() {
      const deadline = performance.now() + 60_000
      for (;;) {
        const started = spawn(
          join(bin, "postgres"),
          ["-D", data, "-h", "127.0.0.1", "-p", String(port), "-k", "", ...lines],
          { ...as, cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
        )
        child = started
        started.stderr.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-8_000)))
        while (started.exitCode === null && !(await accepts())) {
          if (performance.now() > deadline) throw new Error(`PostgreSQL does not start:\n${output}`)
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        if (started.exitCode === null) return
        // Sessions of a server that was killed end a moment after it, and keep its memory until then.
        if (performance.now() > deadline) throw new Error(`PostgreSQL does not start:\n${output}`)
      }
    },
    async kill(signal = "SIGKILL") {
      const running = child
      child = null
      if (running === null || running.exitCode !== null || running.signalCode !== null) return
      const gone = once(running, "exit")
      running.kill(signal)
      await gone
    },
    async query(sql, database, at) {
      const client = new pg.Client({ connectionString: url(database, at) })
      client.on("error", () => undefined)
      await client.connect()
      try {
        // Several statements have several results.
        const answer: unknown = await client.query(sql)
        const last = (Array.isArray(answer) ? answer.at(-1) : answer) as { rows: Record<string, unknown>[] }
        return last.rows
      } finally {
        await client.end()
      }
    },
    async close() {
      await this.kill("SIGQUIT")
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}
