import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, describe, test } from "node:test"
import {
  aRequest,
  aRun,
  created,
  ended,
  from,
  happened,
  leaseMs,
  owner,
} from "../../../test/contract/run-store/material.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { within } from "../../../test/support/within.ts"
import type { InboxQuery } from "../../ports/question-store.ts"
import { Damaged, StoreFailure, type Lease } from "../../ports/store.ts"
import type { LogEvent } from "../../log/events.ts"
import { createMasterKey } from "../vault/vault.ts"
import { openSqliteStore } from "./open-sqlite-store.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-encryption-"))
after(() => rmSync(scratch, { recursive: true }))

function place(name: string) {
  const directory = join(scratch, name)
  const path = join(directory, "wire.db")
  const clock = new ManualClock()
  const masterKey = createMasterKey(randomBytes(32))
  return { directory, path, open: (key = masterKey) => openSqliteStore({ path, masterKey: key, clock, residueMs: 20 }) }
}

/** In which files of a directory some bytes stand. */
function foundIn(directory: string, bytes: Uint8Array | string): string[] {
  const sought = Buffer.from(bytes)
  return readdirSync(directory).filter((file) => readFileSync(join(directory, file)).includes(sought))
}

/** Rows of another connection, as they are stored. */
function rows(path: string, query: string): Record<string, unknown>[] {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return database.prepare(query).all()
  } finally {
    database.close()
  }
}

/** Changes the database behind the store's back. */
function change(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  try {
    database.exec(sql)
  } finally {
    database.close()
  }
}

function inboxOf(caller: string): InboxQuery {
  return { caller, groups: [], member_of: [], status: "open", to: null, limit: 10, after: null }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

function asked(event: number, run_id: string, canary: (where: string) => string): LogEvent {
  const at = "2026-11-15T01:00:00.000Z"
  const question = {
    id: "q1",
    run_id,
    kind: "ask" as const,
    name: canary("name"),
    question: canary("question"),
    show: canary("show"),
    to: canary("to"),
    schema: {},
    asked_at: at,
    expires_at: "2036-11-15T01:00:00.000Z",
  }
  return { id: event, type: "question_asked", at, data: { ...question, at } }
}

/** Waits until a condition holds that only files on disk can tell of. */
async function until(what: string, holds: () => boolean): Promise<void> {
  const wait = async () => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await within(30_000, what, wait())
}

describe("sqlite store, encryption at rest", () => {
  test("nothing of a run, of a cache entry or of a key can be read in any file", async () => {
    const { directory, open } = place("canary")
    const store = await open()
    const canary = (where: string) => `canary-${where}-`.repeat(3)
    const run = aRun({
      caller: "ada",
      request: {
        source: canary("source"),
        input: { [canary("input-key")]: canary("input") },
        secrets: { [canary("secret-name")]: canary("secret") },
        options: { ...aRequest().options, cache_key: canary("options") },
      },
      idempotency: { key: canary("idempotency"), fingerprint: canary("fingerprint") },
    })
    const outcome = await store.create(run, owner, leaseMs)
    assert.ok(outcome.outcome === "created")
    await store.append(outcome.lease, [happened(1, canary("event"), { history: canary("kept") })])
    await store.append(outcome.lease, [happened(2, canary("large").repeat(10_000))])
    await store.append(outcome.lease, [asked(3, run.run_id, canary)])
    const given = { answer: canary("answer"), answered_by: { caller: "ada", by: canary("by") } }
    assert.equal((await store.questions.answer(run.run_id, "q1", given))?.stored, true)
    await store.cache.put("ada", canary("cache-key"), canary("cache-hash"), { output: canary("cached") }, 60_000)
    const look = () => {
      assert.deepEqual(foundIn(directory, "canary-"), [])
      // The search can find things, and the files are those that hold the run.
      assert.ok(foundIn(directory, run.run_id).length > 0)
    }
    look()
    assert.ok(readdirSync(directory).includes("wire.db-wal"))
    await store.append(outcome.lease, [ended(4)])
    look()
    await store.close()
    look()
  })

  test("secrets are gone from every file when the run has ended, in sealed form too", async () => {
    const { directory, path, open } = place("secrets")
    const store = await open()
    const lease = await created(store, {
      request: aRequest({ secrets: { token: "t".repeat(50), long: "l".repeat(9_000) } }),
    })
    const body = rows(path, "SELECT body FROM secrets")[0]?.["body"] as Uint8Array
    assert.ok(body.length > 9_000)
    const pieces = from(0, body.length / 300).map((n) => body.subarray(n * 300, n * 300 + 30))
    // Of so long a value some pieces may stand across two pages.
    const found = pieces.filter((piece) => foundIn(directory, piece).length > 0)
    assert.ok(found.length > 25)

    await store.append(lease, [happened(1), ended(2)])
    assert.deepEqual(rows(path, "SELECT * FROM secrets"), [])
    await until("the residue's end", () => pieces.every((piece) => foundIn(directory, piece).length === 0))
    // While the store is still open, and the rest of the run is there.
    assert.equal((await store.read(lease.run_id, 0, 10)).length, 2)
    await store.close()
  })

  test("short secrets are gone as well, however the rows of their runs have changed and moved", async () => {
    const { directory, path, open } = place("short-secrets")
    const store = await open()
    const runs = await Promise.all(
      from(1, 300).map((n) =>
        created(store, { request: aRequest({ secrets: { token: `${n} `.repeat(1 + ((n * 7) % 60)) } }) }),
      ),
    )
    const sealed = rows(path, "SELECT body AS secrets FROM secrets").map(({ secrets }) => secrets as Uint8Array)
    assert.equal(new Set(sealed.map((secrets) => Buffer.from(secrets).toString("hex"))).size, 300)
    const found = (): number => {
      const files = readdirSync(directory).map((file) => readFileSync(join(directory, file)))
      return sealed.filter((secrets) => files.some((file) => file.includes(Buffer.from(secrets.subarray(0, 30)))))
        .length
    }
    await until("all secrets in a file", () => found() === 300)

    // Rows grow by what the runs use, some before others end, and a few runs are deleted.
    const usage = {
      input_tokens: 1e15,
      output_tokens: 1e15,
      cached_tokens: 1e15,
      written_tokens: 0,
      reasoning_tokens: 1e15,
      cost: 0.25,
    }
    const used = {
      id: 1,
      type: "agent_completed",
      at: "2026-11-15T01:00:00.000Z",
      data: { usage },
    } as unknown as LogEvent
    const some = (divisor: number) => runs.filter((_, n) => n % divisor === 0)
    await Promise.all(some(2).map((lease) => store.append(lease, [used])))
    await Promise.all(some(6).map((lease) => store.append(lease, [ended(2)])))
    assert.equal(await store.sweep(Number.MAX_SAFE_INTEGER), 50)
    const left = runs.filter((_, n) => n % 6 !== 0)
    await Promise.all(left.map((lease) => store.append(lease, [ended(runs.indexOf(lease) % 2 === 0 ? 2 : 1)])))
    assert.deepEqual(rows(path, "SELECT body FROM secrets"), [])
    await until("the residue's end", () => found() === 0)
    await store.close()
  })

  test("the keys of secrets are in no file after the ends of their runs, however many begin and end among each other", async () => {
    const { directory, path, open } = place("secret-keys")
    const store = await open()
    const keys = new Set<string>()
    const taken = (): void => {
      for (const { key } of rows(path, "SELECT key FROM secret_keys WHERE taken = 1")) {
        keys.add(Buffer.from(key as Uint8Array).toString("latin1"))
      }
    }
    const files = (): string =>
      readdirSync(directory)
        .map((file) => readFileSync(join(directory, file), "latin1"))
        .join("\n")
    let running: Lease[] = []
    // More runs at once than places are added at once, with secrets of many sizes, and ends in another order than the beginnings.
    for (const round of from(1, 5)) {
      const begun = from(1, 160).map((n) =>
        created(store, { request: aRequest({ secrets: { token: "s".repeat((n * 37 * round) % 1_500) } }) }),
      )
      running = [...running, ...(await Promise.all(begun))]
      taken()
      const isOver = (n: number): boolean => n % 3 === round % 3
      await Promise.all(running.filter((_, n) => isOver(n)).map((lease) => store.append(lease, [ended(1)])))
      running = running.filter((_, n) => !isOver(n))
    }
    assert.equal(keys.size, 800)
    const text = files()
    assert.ok(
      [...keys].some((key) => text.includes(key)),
      "the search finds those of runs that go on",
    )
    await Promise.all(running.map((lease) => store.append(lease, [ended(1)])))
    await until("the residue's end", () => {
      const now = files()
      return [...keys].every((key) => !now.includes(key))
    })
    assert.ok(rows(path, "SELECT place FROM secret_keys").length <= 512, "places are taken again")
    await store.close()
  })

  test("the key of a run that retention deleted is gone from every file", async () => {
    const { directory, path, open } = place("retention")
    const store = await open()
    const lease = await created(store)
    await store.append(lease, [happened(1), ended(2)])
    const key = rows(path, "SELECT key FROM runs")[0]?.["key"] as Uint8Array
    // While the log is emptied into the database, a look at one file after the other may miss it.
    await until("the key in a file", () => foundIn(directory, key).length > 0)
    assert.equal(await store.sweep(Number.MAX_SAFE_INTEGER), 1)
    await until("the residue's end", () => foundIn(directory, key).length === 0)
    assert.deepEqual(rows(path, "SELECT * FROM events"), [])
    assert.deepEqual(rows(path, "SELECT * FROM requests"), [])
    assert.deepEqual(rows(path, "SELECT * FROM leftovers"), [])
    await store.close()
  })

  test("rows moved to another place are not believed", async () => {
    const { path, open } = place("moved")
    const first = await open()
    const lease = await created(first)
    const other = await created(first)
    await first.append(lease, [happened(1)])
    await first.append(lease, [happened(2)])
    await first.append(other, [happened(1)])
    await first.close()
    const database = new DatabaseSync(path)
    const put = (place: string) =>
      database.exec(`UPDATE events SET body = (SELECT body FROM events WHERE run = 1 AND last = 2) WHERE ${place}`)
    put("run = 1 AND last = 1")
    put("run = 2")
    database.close()
    const second = await open()
    await assert.rejects(second.read(lease.run_id, 0, 10), StoreFailure)
    await assert.rejects(second.read(other.run_id, 0, 10), StoreFailure)
    assert.equal((await second.read(lease.run_id, 1, 10)).length, 1)
    await second.close()
  })

  test("a run that was given to another caller in the database opens for neither", async () => {
    const { path, open } = place("given")
    const first = await open()
    const lease = await created(first, { caller: "ann" })
    await first.append(lease, [happened(1), asked(2, lease.run_id, (where) => where)])
    await first.close()
    change(path, "UPDATE runs SET caller = 'bob'; UPDATE waits SET caller = 'bob'")
    const second = await open()
    const { run_id } = lease
    for (const read of [
      () => second.read(run_id, 0, 10),
      () => second.request(run_id),
      () => second.questions.ofRun(run_id, 10, null),
      () => second.questions.one(run_id, "q1"),
      () => collect(second.follow(run_id, 0, AbortSignal.timeout(30_000))),
    ]) {
      await assert.rejects(read(), Damaged)
    }
    assert.deepEqual((await second.questions.inbox(inboxOf("bob"))).found, [])
    // It can still be ended, with nothing in it.
    const [claimed] = await second.claim(owner, 1, leaseMs)
    assert.ok(claimed !== undefined)
    await second.failAsCorrupt(claimed, ended(3))
    assert.deepEqual(await second.read(run_id, 0, 10), [ended(3)])
    await second.close()
  })

  test("nor is it given while its key is in memory, by its row, a question's or an idempotency key", async () => {
    const { path, open } = place("given-live")
    const store = await open()
    const key = (name: string) => ({ key: name, fingerprint: name })
    const lease = await created(store, { caller: "ann", idempotency: key("of ann") })
    await created(store, { caller: "bob", idempotency: key("of bob") })
    await store.append(lease, [happened(1), asked(2, lease.run_id, (where) => where)])
    const { run_id } = lease
    change(path, "UPDATE waits SET caller = 'bob'")
    assert.deepEqual((await store.questions.inbox(inboxOf("bob"))).found, [])
    change(
      path,
      `CREATE TEMP TABLE of_bob AS SELECT idempotency, fingerprint FROM runs WHERE caller = 'bob';
       DELETE FROM runs WHERE caller = 'bob';
       UPDATE runs SET (idempotency, fingerprint) = (SELECT idempotency, fingerprint FROM of_bob)`,
    )
    const wanted = { outcome: "conflict", run_id }
    for (const caller of ["ann", "bob"]) {
      change(path, `UPDATE runs SET caller = '${caller}'`)
      assert.deepEqual(await store.existing("bob", key("of bob")), wanted, caller)
      assert.deepEqual(await store.create(aRun({ caller: "bob", idempotency: key("of bob") }), owner, leaseMs), wanted)
      const found = await store.lookup(run_id)
      assert.equal(found.found === "run" && found.run.caller, "ann")
    }
    await store.close()
  })

  test("under another master key the database is refused and left as it is", async () => {
    const { path, open } = place("wrong-key")
    const store = await open()
    await created(store)
    await store.close()
    const digest = () => createHash("sha256").update(readFileSync(path)).digest("hex")
    const before = digest()
    await assert.rejects(
      open(createMasterKey(randomBytes(32))),
      (error) => error instanceof StoreFailure && /encrypted with another key.*WIRE_ENCRYPTION_KEY/.test(error.message),
    )
    assert.equal(digest(), before)
    await (await open()).close()
  })

  test("its files are its owner's alone", async () => {
    const { directory, open } = place("modes")
    const store = await open()
    await created(store)
    assert.equal(statSync(directory).mode & 0o777, 0o700)
    const files = readdirSync(directory)
    const kinds = files.map((file) => file.replace(/(?<=-holder)-.*/, ""))
    assert.deepEqual(kinds.sort(), ["wire.db", "wire.db-holder", "wire.db-shm", "wire.db-wal"])
    for (const file of files) assert.equal(statSync(join(directory, file)).mode & 0o777, 0o600, file)
    await store.close()
  })
})
