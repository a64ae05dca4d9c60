import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, it } from "node:test"
import { folderWith, runWire, startWire } from "./run-wire.ts"

interface Report {
  readonly open_by: number
  readonly runs: { readonly unfinished: number; readonly ended: number }
  readonly events: number
  readonly oldest_run: string | null
  readonly newest_run: string | null
  readonly damaged_run_ids: readonly string[]
  readonly questions: object
  readonly notifications: object
  readonly problems: readonly string[]
}

const report = (out: string): Report => JSON.parse(out) as Report

describe("wire store check", () => {
  it("tells of a whole store, live and stopped, and of what is damaged in it", async () => {
    const folder = folderWith({})
    const check = (...more: string[]) => runWire(["store", "check", "--data-dir", folder, ...more])
    const settings = {
      WIRE_PORT: "0",
      WIRE_LOG_LEVEL: "error",
      WIRE_NOTIFY_ORIGINS: "http://127.0.0.1:9",
      WIRE_NOTIFY_SECRET: `whsec_${Buffer.alloc(24, 1).toString("base64")}`,
    }
    const service = await startWire(["serve"], { ...settings, WIRE_DATA_DIR: folder })
    let run_id = ""
    for (let n = 0; n < 3; n++) {
      const answer = await fetch(`${service.address}/execute`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ workflow_source: 'output { m: "x" }' }),
      })
      assert.equal(answer.status, 200)
      run_id = answer.headers.get("x-service-run-id") ?? ""
    }
    const waiting = await fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        workflow_source: 'ask a { question: "Go on?"  output { go: boolean } }\noutput { go: ask.a.go }',
        options: { notify: { url: "http://127.0.0.1:9/hook" } },
      }),
    })
    assert.equal(waiting.status, 202)
    const live = await check("--json")
    assert.equal(live.code, 0, live.err)
    const { open_by, runs, events, oldest_run, newest_run, problems } = report(live.out)
    assert.deepEqual([open_by, runs, events, problems], [1, { unfinished: 1, ended: 3 }, 13, []])
    assert.deepEqual(report(live.out).questions, { open: 1, settled: 0, damaged: 0 })
    assert.deepEqual(report(live.out).notifications, { pending: 1, settled: 0, damaged: 0 })
    assert.ok(oldest_run !== null && newest_run !== null && oldest_run <= newest_run)
    service.child.kill("SIGTERM")
    await service.ended

    const stopped = await check()
    assert.equal(stopped.code, 0, stopped.err)
    assert.match(stopped.out, /^open in +no process$/m)
    assert.match(stopped.out, /^runs +1 unfinished, 3 ended$/m)
    assert.match(stopped.out, /^questions +1 open, 0 settled$/m)
    assert.match(stopped.out, /^notices +1 pending, 0 settled$/m)
    assert.match(stopped.out, /All is well\./)

    const database = new DatabaseSync(join(folder, "wireworks.db"))
    database
      .prepare("UPDATE events SET body = zeroblob(50) WHERE run = (SELECT num FROM runs WHERE run_id = ?)")
      .run(run_id)
    database.exec("UPDATE waits SET body = zeroblob(50); UPDATE outbox SET url = zeroblob(50)")
    database.close()
    const damaged = await check("--json")
    assert.equal(damaged.code, 1)
    assert.deepEqual(report(damaged.out).damaged_run_ids, [run_id])
    assert.match(report(damaged.out).problems.join(), /1 of the runs cannot be read/)
    assert.match(report(damaged.out).problems.join(), /1 of the questions cannot be read/)
    assert.match(report(damaged.out).problems.join(), /1 of the notifications cannot be read/)

    const otherKey = await check("--encryption-key", "a".repeat(64))
    assert.equal(otherKey.code, 1)
    assert.match(otherKey.out, /encrypted with another key/)
  })

  it("says why a store cannot be checked", async () => {
    const empty = await runWire(["store", "check", "--data-dir", folderWith({})])
    assert.equal(empty.code, 1)
    assert.match(empty.err, /There is no database/)
    const folder = folderWith({})
    mkdirSync(join(folder, "wireworks.db"))
    assert.match((await runWire(["store", "check", "--data-dir", folder])).err, /is a directory/)
    const foreign = folderWith({})
    writeFileSync(join(foreign, "wireworks.db"), "not a database, and longer than its header would be".repeat(10))
    writeFileSync(join(foreign, "wireworks.key"), `${"ab".repeat(32)}\n`, { mode: 0o600 })
    const refused = await runWire(["store", "check", "--data-dir", foreign, "--json"])
    assert.equal(refused.code, 1)
    assert.match(report(refused.out).problems.join(), /is not a database/)
    const memory = await runWire(["store", "check"], { env: { WIRE_STORE: "memory" } })
    assert.equal(memory.code, 2)
    assert.match((await runWire(["store", "check", "--help"])).out, /Exit code: 0 when all is well/)
  })

  it("a start without the database that its key is for says so", async () => {
    const folder = folderWith({})
    writeFileSync(join(folder, "wireworks.key"), `${"ab".repeat(32)}\n`, { mode: 0o600 })
    const service = await startWire(["serve"], { WIRE_PORT: "0", WIRE_DATA_DIR: folder })
    service.child.kill("SIGTERM")
    await service.ended
    assert.match(service.output(), /"level":"error".*begins with an empty store/)
  })
})

describe("wire store backup", () => {
  it("copies the store while the service writes, and a service starts from the copy", async () => {
    const folder = folderWith({})
    const restored = folderWith({})
    const copy = join(restored, "wireworks.db")
    const service = await startWire(["serve"], { WIRE_PORT: "0", WIRE_DATA_DIR: folder, WIRE_LOG_LEVEL: "error" })
    const execute = (): Promise<Response> =>
      fetch(`${service.address}/execute`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ workflow_source: 'output { m: "x" }' }),
      })
    const before = await execute()
    let writes = true
    const writing = (async () => {
      while (writes) assert.equal((await execute()).status, 200)
    })()
    const made = await runWire(["store", "backup", copy, "--data-dir", folder])
    writes = false
    await writing
    assert.deepEqual([made.code, made.err], [0, ""])
    assert.match(made.out, /^The copy is made\. It opens with the encryption key of the store/)
    assert.equal(statSync(copy).mode & 0o777, 0o600)
    const again = await runWire(["store", "backup", copy, "--data-dir", folder])
    assert.equal(again.code, 1)
    assert.match(again.err, /exists already/)
    service.child.kill("SIGTERM")
    await service.ended

    cpSync(join(folder, "wireworks.key"), join(restored, "wireworks.key"))
    const checked = await runWire(["store", "check", "--data-dir", restored, "--json"])
    assert.deepEqual([checked.code, report(checked.out).problems], [0, []])
    const next = await startWire(["serve"], { WIRE_PORT: "0", WIRE_DATA_DIR: restored, WIRE_LOG_LEVEL: "error" })
    const run = await fetch(`${next.address}/execute/${before.headers.get("x-service-run-id")}`)
    assert.deepEqual(((await run.json()) as { output: unknown }).output, { m: "x" })
    next.child.kill("SIGTERM")
    await next.ended
  })

  it("says what it cannot do, and leaves nothing half written", async () => {
    const none = await runWire(["store", "backup", "x.db", "--data-dir", folderWith({})])
    assert.equal(none.code, 1)
    assert.match(none.err, /There is no database/)
    const folder = folderWith({ "wireworks.db": "not a database" })
    const wrong = await runWire(["store", "backup", join(folder, "x.db"), "--data-dir", folder])
    assert.equal(wrong.code, 1)
    assert.ok(!existsSync(join(folder, "x.db")))
    const nowhere = await runWire(["store", "backup", join(folder, "none/x.db"), "--data-dir", folder])
    assert.deepEqual([nowhere.code, /could not be written: ENOENT/.test(nowhere.err)], [1, true])
  })
})

describe("a store on NATS", () => {
  for (const command of [["serve"], ["store", "check"], ["store", "change-key"]]) {
    it(`wire ${command.join(" ")} refuses it with a sentence that names PostgreSQL and the page`, async () => {
      for (const store of ["nats://user:pass@127.0.0.1:9,127.0.0.1:10", "tls://127.0.0.1:9"]) {
        const env = {
          WIRE_STORE: store,
          WIRE_ENCRYPTION_KEY: "5".repeat(64),
          WIRE_ENCRYPTION_KEY_OLD: "6".repeat(64),
          WIRE_PORT: "0",
        }
        const { code, err, out } = await runWire(command, { cwd: folderWith({}), env })
        assert.deepEqual([code, out], [1, ""])
        assert.match(
          err,
          /^WIRE_STORE is "(?:nats|tls):\/\/127\.0\.0\.1:9\S*": it must be sqlite, memory, or like postgres:/,
        )
        assert.match(
          err,
          /Runs cannot be kept in NATS: PostgreSQL is the store for many machines \(docs\/cluster\.md\)\.\n$/,
        )
        assert.doesNotMatch(err, /pass@/)
      }
    })
  }
})

describe("wire store move", () => {
  it("says what to do where a store cannot be moved, and connects to nobody", async () => {
    const folder = folderWith({})
    for (const [from, to] of [
      [`sqlite:${folder}`, "nats://user:pass@127.0.0.1:9"],
      ["tls://127.0.0.1:9", `sqlite:${folder}`],
    ] as const) {
      const { code, err, out } = await runWire(["store", "move", "--from", from, "--to", to])
      assert.deepEqual([code, out], [1, ""])
      assert.match(err, /must be .*\. Runs cannot be kept in NATS: PostgreSQL is the store .* \(docs\/cluster\.md\)\./)
      assert.doesNotMatch(err, /pass@/)
    }
    const { code, err } = await runWire(["store", "move", "--from", "mongo://u:pass@h", "--to", `sqlite:${folder}`])
    assert.equal(code, 1)
    assert.match(err, /must be like sqlite:FOLDER or postgres:/)
    assert.doesNotMatch(err, /pass@/)
    assert.equal(existsSync(join(folder, "wireworks.db")), false)
  })
})

describe("wire store change-key", () => {
  it("puts the store under the new key, which the service starts with", async () => {
    const folder = folderWith({})
    const settings = { WIRE_PORT: "0", WIRE_DATA_DIR: folder, WIRE_LOG_LEVEL: "error" }
    const service = await startWire(["serve"], settings)
    const answer = await fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workflow_source: 'output { m: "x" }' }),
    })
    const run_id = answer.headers.get("x-service-run-id")
    const old = readFileSync(join(folder, "wireworks.key"), "utf8").trim()
    const next = randomBytes(32).toString("base64")
    const change = (env: Record<string, string>) =>
      runWire(["store", "change-key", "--data-dir", folder], { env: { WIRE_ENCRYPTION_KEY_OLD: old, ...env } })
    const inUse = await change({ WIRE_ENCRYPTION_KEY: next })
    assert.deepEqual([inUse.code, /in use: stop the service first/.test(inUse.err)], [1, true])
    service.child.kill("SIGTERM")
    await service.ended

    const same = await change({})
    assert.deepEqual([same.code, /is the same key as WIRE_ENCRYPTION_KEY/.test(same.err)], [1, true])
    // The new key may be in the key file, too.
    writeFileSync(join(folder, "wireworks.key"), next, { mode: 0o600 })
    const changed = await change({})
    assert.deepEqual([changed.code, changed.out.includes("under the new key. Start")], [0, true], changed.err)
    assert.match((await change({})).out, /under the new key already/)
    const refused = await runWire(["serve", "--data-dir", folder, "--port", "0"], {
      env: { WIRE_ENCRYPTION_KEY: old },
    })
    assert.match(refused.err, /was encrypted with another key/)
    const again = await startWire(["serve"], settings)
    const run = await fetch(`${again.address}/execute/${run_id}`)
    assert.deepEqual(((await run.json()) as { output: unknown }).output, { m: "x" })
    again.child.kill("SIGTERM")
    await again.ended
  })
})
