import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { chownSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test, type TestContext } from "node:test"
import { startService } from "../cli/run-wire.ts"
import { startServer } from "../support/http-server.ts"
import { account, startPostgres } from "../support/postgres-server.ts"
import { within } from "../support/within.ts"

// The disk of the server's tables has no room, under the whole service. It is a small file system of its own, which not every user may mount.

/** The folder of a file system with so many megabytes, or null. */
function smallDisk(megabytes: number): string | null {
  const folder = mkdtempSync(join(tmpdir(), "wire-postgres-disk-"))
  after(() => {
    spawnSync("umount", ["-l", folder])
    rmSync(folder, { recursive: true, force: true })
  })
  if (spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]).status !== 0) return null
  const { uid, gid } = account()
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}

test("a full disk of PostgreSQL: readiness goes off, runs wait without asking again, and all comes back by itself", async (t: TestContext) => {
  const folder = smallDisk(48)
  if (folder === null) return t.skip("this user may not mount a file system")
  const server = await startPostgres({ config: ["fsync=off"] })
  t.after(() => server.close())
  await server.query(`CREATE TABLESPACE small LOCATION '${folder}'`)
  await server.query("CREATE DATABASE wire TABLESPACE small")

  const gate = Promise.withResolvers<void>()
  const called = Promise.withResolvers<void>()
  const backend = await startServer((_request, response) => {
    called.resolve()
    void gate.promise.then(() => {
      // Larger than what the pages that are there already could take.
      const text = JSON.stringify({ message: "long ".repeat(200_000) })
      response.writeHead(200, { "content-type": "application/json" })
      response.end(
        JSON.stringify({ output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }] }),
      )
    })
  })
  t.after(() => backend.close())
  const service = await startService(process.execPath, ["src/cli/wire.ts", "serve"], {
    WIRE_PORT: "0",
    WIRE_STORE: server.url("wire"),
    WIRE_ENCRYPTION_KEY: "5".repeat(64),
    WIRE_RATE_LIMIT: "0",
  })
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

  const before = await post('output { m: "before" }')
  assert.equal(before.status, 200)
  const underWay = post(`
    provider p from openai { endpoint: "${backend.origin}/v1" }
    model m from p { id: "m" }
    agent a { model: model.m  instruction: "Go on."  output { message: string } }
    output { m: agent.a.message }
  `)
  await within(30_000, "the call", called.promise)

  const ballast = join(folder, "ballast")
  const { blocks, bsize } = statfsSync(folder)
  // More than there is room for: what fits is written.
  assert.throws(() => writeFileSync(ballast, Buffer.alloc(blocks * bsize)), { code: "ENOSPC" })
  gate.resolve()
  await until(async () => (await ready()) === 503)
  for (let n = 0; n < 10; n++) {
    assert.equal(await ready(), 503)
    const refused = await post('output { m: "while it is full" }')
    assert.equal(refused.status, 503)
    const { error } = (await refused.json()) as { error: { kind: string; message: string } }
    assert.equal(error.kind, "overloaded")
    assert.match(error.message, /store/)
  }
  await until(async () => lines('"trouble":"store"').length > 0)
  assert.equal(lines('"level":"error"').length, 1, service.output())
  assert.match(
    lines('"level":"error"')[0] ?? "",
    /The disk of PostgreSQL at 127\.0\.0\.1:\d+\/wire is full: nothing more can be stored until there is space/,
  )

  rmSync(ballast)
  await until(async () => (await ready()) === 200)
  const answered = await within(60_000, "the answer of the run that was under way", underWay)
  assert.equal(answered.status, 200)
  assert.equal(((await answered.json()) as { m: string }).m.length, 1_000_000)
  assert.equal(backend.received.length, 1, "the answer was asked for once")
  assert.equal((await post('output { m: "after" }')).status, 200)
  await until(async () => lines("can be written to again").length === 1)
  const [counts] = await server.query(
    "SELECT count(*)::int AS runs, count(finished_at)::int AS ended FROM wire.runs",
    "wire",
  )
  assert.deepEqual(counts, { runs: 3, ended: 3 })
  service.child.kill("SIGTERM")
  assert.deepEqual(await service.ended, { code: 0, signal: null })
})

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("It did not come to that")
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
