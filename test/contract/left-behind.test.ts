import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import inspector from "node:inspector"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, describe, test } from "node:test"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { backUp } from "../../src/adapters/sqlite/back-up.ts"
import { checkStore } from "../../src/adapters/sqlite/check-store.ts"
import { tableShapes } from "../../src/adapters/sqlite/move-end.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import type { RunStore } from "../../src/ports/store.ts"
import {
  leftBehind,
  tableRules,
  tablesErasedAtOnce,
  tablesOfRun,
  type Going,
  type LeftBehind,
} from "../../src/store/left-behind.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { ann, answeredEvent, aQuestion, asked, waits } from "./run-store/asking.ts"
import { aRequest, aRun, ended, happened, leaseMs, owner } from "./run-store/material.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-left-"))
after(() => rmSync(scratch, { recursive: true }))

const entries = Object.values<LeftBehind>(leftBehind)
/** Goings of what is gone once a run that has ended was deleted, and its notices are settled. */
const ofRun: readonly Going[] = ["with the run", "after the run", "at its end", "when settled"]
const run_id = "leaver0123456789"

/** A run that leaves behind all that a run can, up to its end. */
async function live(store: RunStore, clock: ManualClock): Promise<void> {
  const options = {
    ...aRequest().options,
    notify: { url: "http://127.0.0.1:9/", events: ["waiting", "completed"] },
  } as const
  const workflow = { name: "flow", version: "1" }
  const request = aRequest({ secrets: { token: "s3cret-token" }, options, workflow })
  const idempotency = { key: "key", fingerprint: "fingerprint" }
  const made = await store.create(aRun({ run_id, caller: "ann", request, idempotency }), owner, leaseMs)
  assert.ok(made.outcome === "created")
  await store.append(made.lease, [happened(1, "x".repeat(300_000))])
  const questions = ["q1", "q2"].map((id, index) => asked(index + 2, aQuestion(run_id, id, clock)))
  await store.append(made.lease, [...questions, waits(4, ["q1", "q2"], clock)])
  assert.equal((await store.questions.answer(run_id, "q1", ann))?.stored, true)
  assert.equal(await store.requestCancel(run_id), true)
  const [lease] = await store.claim(owner, 1, leaseMs)
  assert.ok(lease !== undefined)
  await store.append(lease, [answeredEvent(5, "q1", clock)])
  await store.append(lease, [ended(6)])
  const { taken } = await store.outbox.take(10, 1_000)
  assert.ok(taken.length > 0)
  for (const notice of taken) {
    await store.outbox.settle(notice, { status: "delivered", last_error: null, due_at: clock.now() })
  }
}

async function erased(store: RunStore): Promise<void> {
  assert.equal(await store.erasure.erase(run_id), "deleted")
}

async function leave(store: RunStore): Promise<void> {
  assert.equal(await store.delete(run_id), "deleted")
  await store.sweep(0)
}

describe("what runs leave behind", () => {
  test("every table of the schema has an entry, with columns that it has", () => {
    const shapes = tableShapes()
    assert.deepEqual(tableRules.map(({ table }) => table).toSorted(), shapes.map(({ name }) => name).toSorted())
    for (const { table, key, run, until } of tableRules) {
      const columns = shapes.find(({ name }) => name === table)?.columns ?? []
      for (const column of [...key.split(", "), run, until]) {
        assert.ok(column === undefined || columns.includes(column), `${table}.${column}`)
      }
      // Rows with the number of a run go with it, or tell that others must.
      assert.ok(!columns.includes("run") || run !== undefined || table === "leftovers", table)
    }
  })

  test("a deleted run has no row left in SQLite, a copy has all rows, and the check finds those that should be gone", async () => {
    const path = join(scratch, "wire.db")
    const clock = new ManualClock()
    const masterKey = createMasterKey(randomBytes(32))
    const store = await openSqliteStore({ path, masterKey, clock, pollMs: 20, erasePaths: ["input.customer"] })
    await live(store, clock)
    const counts = (file: string): Record<string, unknown> => {
      const database = new DatabaseSync(file, { readOnly: true })
      const found = tableRules.map(({ table }) => [
        table,
        database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"],
      ])
      database.close()
      return Object.fromEntries(found) as Record<string, unknown>
    }
    const before = counts(path)
    for (const table of ["runs", "events", "requests", "waits", "outbox"]) assert.ok(Number(before[table]) > 0, table)
    const copy = join(scratch, "copy.db")
    backUp(path, copy)
    assert.deepEqual(counts(copy), before)
    assert.deepEqual(checkStore(path, masterKey).problems, [])

    await leave(store)
    const left = counts(path)
    for (const { table, goes } of tableRules) if (ofRun.includes(goes)) assert.equal(left[table], 0, table)
    assert.equal(left["tombstones"], 1)
    assert.deepEqual(checkStore(path, masterKey).problems, [])
    await store.close()

    const rows: Readonly<Record<string, string>> = {
      run_values: "(run, path, value) VALUES (77, 'input.customer', '')",
      file_refs: "(run, file, made, step) VALUES (77, 1, 0, '')",
      run_scores: "(run, name, author, state, day, cost) VALUES (77, 'n', '', 1, 1, 0)",
      ledger: "(run, hour, model, runs, tokens, cost) VALUES (77, 1, '', 1, 1, 1)",
      waits: "(run, id, kind, caller, opened_at, due_at, body) VALUES (77, 'w', 'question', 'ann', 1, 1, x'00')",
      events: "(run, last, body) VALUES (77, 1, x'00')",
      requests: "(run, body) VALUES (77, x'00')",
      secrets: "(run, place, body) VALUES (77, 1, x'00')",
    }
    for (const { table } of ofRun.flatMap((goes) => tablesOfRun(goes))) {
      const database = new DatabaseSync(path)
      assert.ok(rows[table] !== undefined, `a row of ${table} for this test`)
      database.exec(`INSERT INTO ${table} ${rows[table]}`)
      const problem = `1 row of the table ${table} should have gone with its run`
      assert.ok(checkStore(path, masterKey).problems.includes(problem), table)
      database.exec(`DELETE FROM ${table}`)
      database.close()
    }
  })

  test("an erased run has no row left that waits for its own time, and its id stays", async () => {
    const path = join(scratch, "erased.db")
    const clock = new ManualClock()
    const masterKey = createMasterKey(randomBytes(32))
    const store = await openSqliteStore({ path, masterKey, clock, pollMs: 20, erasePaths: ["input.topic"] })
    await live(store, clock)
    await erased(store)
    await store.close()
    const database = new DatabaseSync(path, { readOnly: true })
    for (const { table, goes, erased: how } of tableRules) {
      const count = database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]
      if (ofRun.includes(goes) || how === "at once") assert.equal(count, 0, table)
    }
    const [tombstone] = database.prepare("SELECT run_id, erased_at FROM tombstones").all()
    assert.equal(tombstone?.["run_id"], run_id)
    assert.notEqual(tombstone?.["erased_at"], null)
    for (const { table, of } of tablesErasedAtOnce) {
      const columns = tableShapes().flatMap(({ name, columns: all }) =>
        name === "runs" || name === table ? [all] : [],
      )
      for (const all of columns) assert.ok(all.includes(of), `${table}.${of}`)
    }
    database.close()
  })

  test("every map of the memory store has an entry, and holds nothing of a deleted run but its tombstone", async () => {
    const clock = new ManualClock()
    const store = new MemoryStore(clock)
    await live(store, clock)
    const before = fieldsOf(store)
    const maps = entries.flatMap((entry) => entry.maps)
    assert.deepEqual(
      [...before.keys()].filter((name) => !maps.includes(name)),
      [],
    )
    assert.deepEqual(
      maps.filter((name) => !before.has(name)),
      [],
    )
    for (const name of ["runs", "waits", "outbox", "byKey"]) assert.ok(before.get(name)?.includes(run_id), name)
    await leave(store)
    const holding = [...fieldsOf(store)].flatMap(([name, text]) => (text.includes(run_id) ? [name] : []))
    assert.deepEqual(holding, ["tombstones"])
  })
})

/** The fields of a store that hold something, private ones too, each with all texts that it leads to. */
function fieldsOf(store: object): Map<string, string> {
  const session = new inspector.Session()
  session.connect()
  const holder = globalThis as { inspected?: object }
  holder.inspected = store
  try {
    const root = post<{ result: Remote }>(session, "Runtime.evaluate", { expression: "inspected" }).result
    const fields = new Map<string, string>()
    for (const { name, value } of membersOf(session, root)) {
      const field = name.replace("#", "")
      if (value?.objectId === undefined || ["clock", "questions"].includes(field)) continue
      fields.set(field, textsIn(session, value))
    }
    return fields
  } finally {
    delete holder.inspected
    session.disconnect()
  }
}

interface Remote {
  readonly type: string
  readonly className?: string
  readonly value?: unknown
  readonly objectId?: string
  readonly description?: string
}
interface Member {
  readonly name: string
  readonly value?: Remote
}

function post<T>(session: inspector.Session, method: string, values: object): T {
  let answer: T | undefined
  session.post(method, values, (error: Error | null, result?: object) => {
    if (error !== null) throw error
    answer = result as T
  })
  if (answer === undefined) throw new Error(`${method} has not answered at once`)
  return answer
}

function membersOf(session: inspector.Session, { objectId }: Remote): Member[] {
  const {
    result,
    privateProperties = [],
    internalProperties = [],
  } = post<{
    readonly result: readonly Member[]
    readonly privateProperties?: readonly Member[]
    readonly internalProperties?: readonly Member[]
  }>(session, "Runtime.getProperties", { objectId, ownProperties: true })
  return [...result, ...privateProperties, ...internalProperties.filter(({ name }) => name === "[[Entries]]")]
}

/** Each object once, by its description and members: the walk is bounded by its depth. */
function textsIn(session: inspector.Session, value: Remote, depth = 0): string {
  if (value.type === "string") return String(value.value).slice(0, 1_000)
  if (value.objectId === undefined || value.type === "function" || depth > 9 || value.className === "ManualClock")
    return ""
  const members = membersOf(session, value).filter(({ name }) => name !== "__proto__" && name !== "#clock")
  return members
    .map(({ name, value: inner }) => `${name} ${inner === undefined ? "" : textsIn(session, inner, depth + 1)}`)
    .join("\n")
}
