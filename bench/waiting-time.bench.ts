import { randomBytes, randomUUID } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { systemClock } from "../src/adapters/system/system-clock.ts"
import { openSqliteStore } from "../src/adapters/sqlite/open-sqlite-store.ts"
import { createMasterKey } from "../src/adapters/vault/vault.ts"
import type { LogEvent } from "../src/log/events.ts"
import type { RunRequest } from "../src/ports/store.ts"
import { builtWire } from "../test/support/built-wire.ts"
import { BenchProcess, cpuSeconds, residentBytes } from "./serve/process.ts"

// Runs that wait for a time, against an idle service: memory and CPU of a service that has them until they are due, and how they wake when all are
// due in the same second. `npm run bench -- waiting-time [RUNS [SECONDS_UNTIL_DUE]]`

const [count = 100_000, lead = 900] = process.argv.slice(2).map(Number)
const root = dirname(import.meta.dirname)
mkdirSync(join(root, ".cache"), { recursive: true })
const folder = mkdtempSync(join(root, ".cache", "bench-waiting-time-"))

const settings = {
  WIRE_PORT: "0",
  WIRE_RATE_LIMIT: "0",
  WIRE_LOG_LEVEL: "error",
  WIRE_MAX_RUNS: "200",
  WIRE_MAX_QUEUED: "10000",
  WIRE_MAX_WAITING: "1000000",
  WIRE_STORE: "sqlite",
  WIRE_ENCRYPTION_KEY: randomBytes(32).toString("base64"),
}

const start = (name: string): Promise<BenchProcess> =>
  BenchProcess.start("server", [process.execPath, builtWire, "serve"], {
    ...settings,
    WIRE_DATA_DIR: join(folder, name),
  })

/** Least memory, and CPU a second, over ten seconds. */
async function rest(pid: number): Promise<{ readonly mb: number; readonly cpu: number }> {
  await pause(3_000)
  const before = cpuSeconds(pid)
  let least = Number.POSITIVE_INFINITY
  for (let look = 0; look < 40; look++) {
    await pause(250)
    least = Math.min(least, residentBytes(pid))
  }
  return { mb: least / 1e6, cpu: (cpuSeconds(pid) - before) / 10 }
}

const show = ({ mb, cpu }: { readonly mb: number; readonly cpu: number }): string =>
  `${mb.toFixed(1)} MB, ${(cpu * 100).toFixed(1)} % of a core`

async function waiting(address: string): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text()
  return Number(/^wire_waits_open\{kind="time"\} (\d+)$/m.exec(text)?.[1])
}

/** Stores runs like one that the service has made and parked, each with its own time: making them over HTTP takes an hour. */
async function clone(first: string, far: number, due: number, untils: Map<string, number>): Promise<void> {
  const masterKey = createMasterKey(Buffer.from(settings.WIRE_ENCRYPTION_KEY, "base64"))
  const path = join(folder, "full", "wireworks.db")
  const store = await openSqliteStore({ path, masterKey, clock: systemClock })
  const text = JSON.stringify(await store.read(first, 0, 100, "kept"))
  const [[id] = []] = (await store.waits.ofRun(first, "time", 1, null)).found.map(({ wait }) => [wait.id])
  const request = await store.request(first)
  let made = 0
  const make = async (): Promise<void> => {
    while (made < count) {
      const run_id = randomUUID()
      const until = due + ((made++ * 7919) % 1000)
      const own = (value: string): string =>
        value
          .replaceAll(new Date(far).toISOString(), new Date(until).toISOString())
          .replaceAll(id ?? first, `w-${run_id}`)
      const run = { run_id, caller: "", created_at: Date.now(), idempotency: null }
      const created = await store.create(
        { ...run, request: JSON.parse(own(JSON.stringify(request))) as RunRequest },
        "b",
        60_000,
      )
      if (created.outcome !== "created") throw new Error("A run is there already")
      await store.append(created.lease, JSON.parse(own(text)) as LogEvent[])
      untils.set(run_id, until)
    }
  }
  await Promise.all(Array.from({ length: 200 }, make))
  await store.close()
}

try {
  const empty = await start("empty")
  console.log(`idle: ${show(await rest(empty.pid))}`)
  await empty.stop()

  const untils = new Map<string, number>()
  const filling = await start("full")
  const far = Date.now() + 80 * 24 * 3_600_000
  const response = await fetch(`${filling.address}/execute`, {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "respond-async" },
    body: JSON.stringify({
      workflow_source: "input { until: string }\nwait due { until: input.until }\noutput { at: wait.due }",
      input: { until: new Date(far).toISOString() },
    }),
  })
  if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`)
  const { run_id: first } = (await response.json()) as { run_id: string }
  while ((await waiting(filling.address)) < 1) await pause(250)
  await filling.stop()
  const from = performance.now()
  const due = Math.ceil((Date.now() + lead * 1000) / 1000) * 1000
  await clone(first, far, due, untils)
  console.log(`${count} runs wait, after ${((performance.now() - from) / 1000).toFixed(1)} s`)

  const service = await start("full")
  if (Date.now() < due - 20_000) console.log(`with ${count} that wait: ${show(await rest(service.pid))}`)
  await pause(Math.max(0, due - Date.now()))
  const before = cpuSeconds(service.pid)
  while ((await waiting(service.address)) > 1) await pause(1_000)
  console.log(`all were found due ${((Date.now() - due) / 1000).toFixed(1)} s after their second began`)
  const ended: { readonly until: number; readonly at: number }[] = []
  for (let after = ""; ended.length < count;) {
    const path = `${service.address}/runs?limit=100&status=completed${after}`
    const page = (await (await fetch(path)).json()) as {
      runs: { run_id: string; finished_at: string | null }[]
      next: string | null
    }
    for (const { run_id, finished_at } of page.runs) {
      ended.push({ until: untils.get(run_id) ?? 0, at: Date.parse(finished_at ?? "") })
    }
    if (page.next === null) {
      ended.length = ended.length < count ? 0 : ended.length
      await pause(1000)
      after = ""
    } else after = `&after=${encodeURIComponent(page.next)}`
  }
  const cpu = cpuSeconds(service.pid) - before
  const last = Math.max(...ended.map(({ at }) => at))
  const early = ended.filter(({ until, at }) => at < until).length
  const seconds = (last - due) / 1000
  ended.sort((a, b) => a.until - b.until)
  // How many places a run is away from where the order of the times would have it, in the order of the ends.
  const place = new Map(ended.toSorted((a, b) => a.at - b.at).map((one, index) => [one, index]))
  const away = ended.map((one, index) => Math.abs((place.get(one) ?? 0) - index)).toSorted((a, b) => a - b)
  console.log(
    `all ended ${seconds.toFixed(1)} s after it (${(count / seconds).toFixed(0)} a second, ${((cpu * 1000) / count).toFixed(1)} ms of CPU each), ${early} too early`,
  )
  console.log(`places away from the order of their times: median ${away[away.length >> 1]}, worst ${away.at(-1)}`)
  await service.stop()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
