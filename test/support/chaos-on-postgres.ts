import { oneOf, wait, type Keeper } from "./chaos.ts"
import { startPostgres, type PostgresServer } from "./postgres-server.ts"

/** One server, which is killed as a whole, crashes by one of its processes, and has sessions that stand still. */
export async function postgresKeeper(): Promise<Keeper> {
  // Processes are killed, the machine is not: what they wrote is with the kernel.
  const server = await startPostgres({ config: ["fsync=off"] })
  return {
    store: server.url(),
    trouble: (random, going, deeds) => trouble(server, random, going, deeds),
    faults: (runs) => faultsOfRuns((sql) => server.query(sql), runs),
    close: () => server.close(),
  }
}

/** Each key has one run, and all have ended. */
export async function faultsOfRuns(
  query: (sql: string) => Promise<Record<string, unknown>[]>,
  runs: number,
): Promise<string[]> {
  const [counts] = await query(
    "SELECT count(*)::int AS made, count(finished_at)::int AS ended, count(DISTINCT idempotency)::int AS keys FROM wire.runs",
  )
  const { made, ended, keys } = counts ?? {}
  if (made === runs && ended === runs && keys === runs) return []
  return [`${String(made)} runs of ${String(keys)} keys were made for ${runs} keys, ${String(ended)} have ended`]
}

async function trouble(
  server: PostgresServer,
  random: () => number,
  going: () => boolean,
  deeds: string[],
): Promise<void> {
  while (going()) {
    await wait(500 + random() * 2_500)
    const deed = random()
    if (deed < 0.3) {
      deeds.push("kill server")
      await server.kill()
      await wait(random() * 2_000)
      await server.start()
    } else if (deed < 0.5) {
      deeds.push("restart server")
      await server.kill("SIGQUIT")
      await wait(random() * 2_000)
      await server.start()
    } else {
      const found = await server.query("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'wireworks %'")
      if (found.length === 0) continue
      const pid = Number(oneOf(random, found)["pid"])
      if (deed < 0.7) {
        // The server stops all sessions and recovers.
        deeds.push("crash session")
        signal(pid, "SIGKILL")
      } else {
        deeds.push("pause session")
        signal(pid, "SIGSTOP")
        await wait(1_000 + random() * 5_000)
        signal(pid, "SIGCONT")
      }
    }
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
  }
}
