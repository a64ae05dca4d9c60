import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, describe, test } from "node:test"
import { openForWriting } from "./open-database.ts"
import type { AppendOperation, CreateOperation } from "../../store/operations.ts"
import { packBatch, packOutcomes, unpackBatch, unpackOutcomes } from "./packed-batch.ts"
import type { Operation, Outcome } from "../../store/writes.ts"
import { Writer } from "./writer.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-writer-"))
after(() => rmSync(scratch, { recursive: true }))

const record = { mark: Buffer.from("mark"), ring: Buffer.from("ring") }

let count = 0
function newWriter() {
  const path = join(scratch, `${++count}.db`)
  const database = openForWriting(path, record)
  return { path, database, writer: new Writer(database, path, "holder") }
}

const blob = (size: number) => new Uint8Array(size).fill(7)

function create(run_id: string): CreateOperation {
  return {
    kind: "create",
    run_id,
    caller: "",
    created_at: 1,
    workflow: null,
    version: null,
    release: null,
    shadow_of: null,
    trace_id: null,
    rerun_of: null,
    values: [],
    started_by: null,
    origin: "request",
    keeper: null,
    key_until: null,
    owner: "o",
    lease_until: 10,
    notify_events: null,
    notify_receiver: null,
    last: 0,
    files: [],
    scored: false,
    private: false,
    blobs: [null, null, blob(60), blob(100), null, null, null, null, null, blob(9)],
  }
}

function append(run: number, first: number, last: number, size = 100): AppendOperation {
  return {
    kind: "append",
    run,
    fence: 1,
    first,
    last,
    finished_at: null,
    caused: null,
    outcome: null,
    error_kind: null,
    usage: null,
    keeper: null,
    blobs: [blob(size), null, null, null, null],
  }
}

const values = (outcomes: readonly Outcome[]) => outcomes.map((one) => ("value" in one ? one.value : one.failure))

function lasts(database: DatabaseSync): number[] {
  return database
    .prepare("SELECT last FROM events ORDER BY id")
    .all()
    .map(({ last }) => last as number)
}

describe("writer", () => {
  test("a deletion that a crash interrupts is finished by the next sweep", () => {
    const { database, writer, path } = newWriter()
    const end = { ...append(1, 2, 2), finished_at: 5, outcome: "failed", error_kind: "timeout" }
    writer.commit([create("a"), append(1, 1, 1), end])
    const deletion = { kind: "delete run", run_id: "a", tombstone_until: 100, erased_at: null, blobs: [] } as const
    assert.deepEqual(values(writer.commit([deletion])), ["deleted"])
    // The process dies here. The run is gone, and its key with it; only sealed events are left.
    database.close()
    const next = openForWriting(path, record)
    const count = (table: string): unknown => next.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]
    assert.deepEqual(["runs", "waits", "secrets", "tombstones"].map(count), [0, 0, 0, 1])
    assert.deepEqual(["leftovers", "events", "requests"].map(count), [1, 2, 1])
    const again = new Writer(next, path, "holder")
    assert.deepEqual(values(again.commit([deletion])), ["gone"])
    const sweep = {
      kind: "sweep leftovers",
      ended_before: 0,
      now: 6,
      tombstone_until: 100,
      erased_at: null,
      blobs: [],
    } as const
    again.commit([sweep])
    again.commit([sweep])
    assert.deepEqual(["leftovers", "events", "requests", "tombstones"].map(count), [0, 0, 0, 1])
    next.close()
  })

  test("what fits is stored though something in its batch does not, and all goes on when there is space", () => {
    const { database, writer, path } = newWriter()
    writer.commit([create("a"), create("b")])
    const pages = Number(database.prepare("PRAGMA page_count").get()?.["page_count"])
    database.exec(`PRAGMA max_page_count = ${pages + 4}`)
    const outcomes = values(
      writer.commit([append(1, 1, 1), append(2, 1, 1, 200_000), append(1, 2, 2), append(2, 2, 2)]),
    )
    const full = `The disk is full: nothing more can be stored in ${path} until there is space`
    // The one that would have followed the failed one is refused too.
    assert.deepEqual(outcomes, ["stored", full, "stored", { stored_last: 0 }])
    assert.deepEqual(values(writer.commit([append(2, 1, 1, 200_000)])), [full])
    assert.deepEqual(lasts(database), [1, 2])
    database.exec("PRAGMA max_page_count = 100000")
    assert.deepEqual(values(writer.commit([append(2, 1, 1, 200_000), append(1, 3, 3)])), ["stored", "stored"])
    database.close()
  })

  test("while another process writes for too long it refuses, and goes on afterwards", () => {
    const { database, path } = newWriter()
    const writer = new Writer(database, path, "holder", 30)
    writer.commit([create("a")])
    const other = new DatabaseSync(path)
    other.exec("BEGIN IMMEDIATE")
    const refused = values(writer.commit([append(1, 1, 1), append(1, 2, 2)]))
    assert.deepEqual(refused, Array(2).fill(`${path} is locked by another process; nothing was stored`))
    other.exec("ROLLBACK")
    other.close()
    assert.deepEqual(values(writer.commit([append(1, 1, 1), append(1, 2, 2)])), ["stored", "stored"])
    database.close()
  })

  test("a run that exists already fails alone", () => {
    const { database, writer } = newWriter()
    const [first, twin, second] = writer.commit([create("a"), create("a"), create("b")])
    assert.deepEqual(first, { value: { outcome: "created", num: 1, fence: 1 } })
    assert.ok(twin !== undefined && "failure" in twin)
    assert.ok(second !== undefined && "value" in second)
    assert.equal(database.prepare("SELECT count(*) AS n FROM runs").get()?.["n"], 2)
    assert.equal(database.prepare("SELECT count(*) AS n FROM requests").get()?.["n"], 2)
    database.close()
  })

  test("what it remembers of a log does not outlive a transaction that failed", () => {
    const { database, writer } = newWriter()
    writer.commit([create("a")])
    writer.commit([append(1, 1, 5)])
    const bad = { ...append(1, 6, 6), blobs: [undefined, null, null] } as unknown as Operation
    assert.ok("failure" in (writer.commit([append(1, 6, 7), bad])[0] ?? {}))
    assert.deepEqual(values(writer.commit([append(1, 6, 8)])), ["stored"])
    assert.deepEqual(lasts(database), [5, 8])
    database.close()
  })

  test("the log file is emptied of what was deleted", () => {
    const { database, writer } = newWriter()
    writer.commit([
      { ...create("a"), blobs: [null, null, blob(60), blob(100), blob(60), null, null, null, blob(79), null] },
    ])
    writer.commit([append(1, 1, 1)])
    assert.equal(writer.hasResidue, false)
    writer.commit([{ ...append(1, 2, 2), finished_at: 5, outcome: "completed" }])
    assert.equal(writer.hasResidue, true)
    assert.equal(writer.removeResidue(), true)
    assert.equal(writer.hasResidue, false)
    database.close()
  })
})

describe("a batch in one piece", () => {
  test("comes out as it went in", () => {
    const operations: Operation[] = [
      append(1, 1, 3, 5),
      create("a"),
      { ...append(2, 7, 7), blobs: [blob(0), blob(3), blob(5), blob(2), blob(1)], finished_at: 1_700_000_000_000 },
      { kind: "cancel", run_id: "b\u0000\ud800", now: 0, blobs: [] },
      { ...append(3, 1, 2), blobs: [blob(9), blob(0), null, null, null] },
    ]
    assert.deepEqual(unpackBatch(packBatch(operations)), operations)
    assert.deepEqual(unpackBatch(packBatch([])), [])
    const outcomes: Outcome[] = [
      { value: "stored" },
      { value: 3 },
      { failure: "no" },
      { value: "lease lost" },
      { value: null },
    ]
    assert.deepEqual(unpackOutcomes(5, packOutcomes(outcomes)), outcomes)
    assert.deepEqual(packOutcomes([{ value: "stored" }, { value: "stored" }]), "[]")
  })
})
