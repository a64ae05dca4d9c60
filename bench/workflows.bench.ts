import { mkdirSync, mkdtempSync, rmSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { spawn } from "node:child_process"
import { builtWire } from "../test/support/built-wire.ts"

// A folder of 500 workflows: what it adds to the start of the service, how long a changed file takes until it serves, and how long
// the list and the contract take. The floor is the same service without a folder, in the same run.

const workflows = 500
const rounds = 5
const root = dirname(import.meta.dirname)
const example = readFileSync(join(root, "examples", "support-triage.wire"), "utf8")

interface Started {
  readonly address: string
  readonly ms: number
  readonly begun: number
  stop(): Promise<void>
}

async function start(folder: string | null): Promise<Started> {
  const begun = performance.now()
  const args = [builtWire, "serve", ...(folder === null ? [] : [folder])]
  const env = { ...process.env, WIRE_PORT: "0", WIRE_STORE: "memory", WIRE_LOG_LEVEL: "error", WIRE_RATE_LIMIT: "0" }
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] })
  const address = await new Promise<string>((resolve, reject) => {
    let text = ""
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      const found = /listens on (\S+)/.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once("exit", () => reject(new Error("The service ended before it listened")))
  })
  const ms = performance.now() - begun
  return {
    address,
    ms,
    begun,
    async stop() {
      const ended = new Promise((resolve) => child.once("close", resolve))
      child.kill("SIGTERM")
      await ended
    },
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** Milliseconds from the end of the write until the new version serves. */
async function reload(address: string, file: string, round: number): Promise<number> {
  const marker = `round ${round} ${Date.now()}`
  writeFileSync(file, `// ${marker}\n${example}`)
  const begun = performance.now()
  for (;;) {
    const { description } = (await (await fetch(`${address}/workflows/group0/flow0`)).json()) as { description: string }
    if (description.startsWith(marker)) return performance.now() - begun
  }
}

async function timed(url: string): Promise<{ readonly ms: number; readonly bytes: number }> {
  const begun = performance.now()
  const text = await (await fetch(url)).text()
  return { ms: performance.now() - begun, bytes: text.length }
}

const folder = mkdtempSync(join(tmpdir(), "wireworks-bench-"))
try {
  for (let n = 0; n < workflows; n++) {
    const path = join(folder, `group${n % 10}`, `flow${n}.wire`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `// Workflow ${n}.\n${example}`)
  }
  const without: number[] = []
  const withFolder: number[] = []
  const complete: number[] = []
  // Once before anything counts: the bundle's compiled code is kept beside it.
  await (await start(null)).stop()
  for (let round = 0; round < rounds; round++) {
    for (const [place, times] of [
      [null, without],
      [folder, withFolder],
    ] as const) {
      const service = await start(place)
      times.push(service.ms)
      if (place !== null) {
        await timed(`${service.address}/workflows`)
        complete.push(performance.now() - service.begun)
      }
      await service.stop()
    }
  }
  const service = await start(folder)
  await timed(`${service.address}/workflows`)
  const reloads: number[] = []
  for (let round = 0; round < 10; round++) {
    reloads.push(await reload(service.address, join(folder, "group0", "flow0.wire"), round))
  }
  const list = await timed(`${service.address}/workflows`)
  const contract = await timed(`${service.address}/openapi.json`)
  await service.stop()

  const [floor, all] = [median(without), median(withFolder)]
  const row = (name: string, value: string): void => console.log(`${name.padEnd(44)}${value}`)
  row("start without a folder", `${floor.toFixed(0)} ms`)
  row(
    `start with ${workflows} workflows`,
    `${all.toFixed(0)} ms (${(all / floor).toFixed(2)} x, +${(all - floor).toFixed(0)} ms)`,
  )
  row("… until all of them are compiled and listed", `+${(median(complete) - floor).toFixed(0)} ms`)
  row("a changed file serves after", `${median(reloads).toFixed(0)} ms (at most ${Math.max(...reloads).toFixed(0)} ms)`)
  row("GET /workflows", `${list.ms.toFixed(0)} ms, ${(list.bytes / 1024).toFixed(0)} KiB`)
  row("GET /openapi.json, made anew", `${contract.ms.toFixed(0)} ms, ${(contract.bytes / 1024).toFixed(0)} KiB`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
