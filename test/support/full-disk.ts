import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after } from "node:test"
import { startService } from "../cli/run-wire.ts"
import { startServer } from "./http-server.ts"
import { within } from "./within.ts"
import { builtWire } from "./built-wire.ts"

// A disk without room, under the whole service.

export interface Disk {
  readonly folder: string
  /** `pid`: the process of the service. */
  fill(pid: number): void
  free(pid: number): void
}

/** A small file system of its own; null where this user may not mount one. */
export function smallDisk(megabytes: number): Disk | null {
  const folder = newFolder()
  if (spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]).status !== 0) return null
  const ballast = join(folder, "ballast")
  return {
    folder,
    fill() {
      const { blocks, bsize } = statfsSync(folder)
      // More than there is room for: what fits is written.
      assert.throws(() => writeFileSync(ballast, Buffer.alloc(blocks * bsize)), { code: "ENOSPC" })
    },
    free: () => rmSync(ballast),
  }
}

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "wire-disk-"))
  after(() => {
    spawnSync("umount", ["-l", folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

export interface FullDisk {
  readonly disk: Disk
  /** Settings of the service that say where the store is. */
  readonly store: Readonly<Record<string, string>>
  /** What the operator reads. */
  readonly sentence: RegExp
}

/** Readiness goes off, runs wait without asking again, and all comes back by itself. Three runs are stored. */
export async function fillUnderService({ disk, store, sentence }: FullDisk): Promise<void> {
  const gate = Promise.withResolvers<void>()
  const called = Promise.withResolvers<void>()
  const backend = await startServer((_request, response) => {
    called.resolve()
    void gate.promise.then(() => {
      // Larger than what pages that are there already could take.
      const text = JSON.stringify({ message: "long ".repeat(200_000) })
      response.writeHead(200, { "content-type": "application/json" })
      const content = [{ type: "output_text", text }]
      response.end(JSON.stringify({ output: [{ type: "message", role: "assistant", content }] }))
    })
  })
  after(() => backend.close())
  const service = await startService(process.execPath, [builtWire, "serve"], {
    WIRE_PORT: "0",
    WIRE_RATE_LIMIT: "0",
    ...store,
  })
  const { pid = 0 } = service.child
  const post = (source: string): Promise<Response> =>
    fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workflow_source: source }),
    })
  const ready = async (): Promise<number> => (await fetch(`${service.address}/readyz`)).status
  const lines = (part: string): string[] =>
    service
      .output()
      .split("\n")
      .filter((line) => line.includes(part))

  assert.equal((await post('output { m: "before" }')).status, 200)
  assert.equal(await ready(), 200)
  const underWay = post(`
    provider p from openai { endpoint: "${backend.origin}/v1" }
    model m from p { id: "m" }
    agent a { model: model.m  instruction: "Go on."  output { message: string } }
    output { m: agent.a.message }
  `)
  await within(30_000, "the call", called.promise)

  disk.fill(pid)
  gate.resolve()
  await until(async () => (await ready()) === 503)
  for (let n = 0; n < 20; n++) {
    assert.equal(await ready(), 503)
    const refused = await post('output { m: "while it is full" }')
    assert.equal(refused.status, 503)
    const { error } = (await refused.json()) as { error: { kind: string; message: string } }
    assert.equal(error.kind, "overloaded")
    assert.match(error.message, /store/)
    assert.doesNotMatch(error.message, /shutting down/)
  }
  await until(async () => lines('"trouble":"store"').length > 0)
  assert.equal(lines('"level":"error"').length, 1, service.output())
  assert.match(lines('"level":"error"')[0] ?? "", sentence)
  assert.equal(lines("unexpected error").length, 0)

  disk.free(pid)
  await until(async () => (await ready()) === 200)
  const answered = await within(60_000, "the answer of the run that was under way", underWay)
  assert.equal(answered.status, 200)
  assert.equal(((await answered.json()) as { m: string }).m.length, 1_000_000)
  assert.equal(backend.received.length, 1, "the answer was asked for once")
  assert.equal((await post('output { m: "after" }')).status, 200)
  await until(async () => lines("can be written to again").length === 1)
  service.child.kill("SIGTERM")
  assert.deepEqual(await service.ended, { code: 0, signal: null })
}

/** Killed while the disk is full, started on the full disk, which then gets room. */
export async function startOnFullDisk(disk: Disk): Promise<void> {
  const start = (): ReturnType<typeof startService> =>
    startService(process.execPath, [builtWire, "serve"], {
      WIRE_PORT: "0",
      WIRE_RATE_LIMIT: "0",
      WIRE_DATA_DIR: join(disk.folder, "data"),
    })
  const statusOf = async (address: string): Promise<number> => {
    const body = JSON.stringify({
      workflow_source: "input { text: string } output { text: input.text }",
      input: { text: "x".repeat(200_000) },
    })
    const headers = { "content-type": "application/json" }
    return (await fetch(`${address}/execute`, { method: "POST", headers, body })).status
  }
  const first = await start()
  // Nearly all of the database is what these store.
  for (let n = 0; n < 12; n++) assert.equal(await statusOf(first.address), 200)
  disk.fill(first.child.pid ?? 0)
  await until(async () => (await statusOf(first.address)) !== 200)
  first.child.kill("SIGKILL")
  await first.ended
  const second = await start()
  for (let n = 0; n < 20; n++) assert.equal(await statusOf(second.address), 503)
  disk.free(second.child.pid ?? 0)
  await until(async () => (await fetch(`${second.address}/readyz`)).status === 200)
  for (let n = 0; n < 20; n++) assert.equal(await statusOf(second.address), 200)
  second.child.kill("SIGTERM")
  await second.ended
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("It did not come to that")
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
