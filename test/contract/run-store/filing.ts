import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { objectGraceMs, type NewFile } from "../../../src/ports/file-store.ts"
import { aRun, created, ended, leaseMs, owner, type OnBench } from "./material.ts"

const hour = 3_600_000

function aFile(changes: Partial<NewFile> = {}): NewFile {
  return {
    file_id: `file_${randomBytes(8).toString("hex")}`,
    caller: "ann",
    object: randomBytes(16).toString("hex"),
    key: randomBytes(32),
    name: "a.txt",
    media_type: "text/plain",
    bytes: 100,
    sha256: "aa",
    created_at: Date.UTC(2029, 0, 1),
    expires_at: Date.UTC(2030, 0, 1),
    most: 1_000,
    ...changes,
  }
}

/** Files: who has them, which runs use them, and when they go. */
export function filing(onBench: OnBench): void {
  onBench("a file is stored once for its caller, whatever it is called", async ({ store, other }) => {
    const file = aFile()
    assert.deepEqual(await store.files.add(file), {
      outcome: "stored",
      file_id: file.file_id,
      created_at: file.created_at,
      taken: true,
    })
    const later = file.expires_at + hour
    const again = await other.files.add(aFile({ expires_at: later }))
    assert.deepEqual([again.outcome, again.taken, "file_id" in again && again.file_id], ["known", false, file.file_id])
    const named = await other.files.add(aFile({ name: "b.txt" }))
    assert.deepEqual([named.outcome, named.taken], ["stored", false])
    assert.equal((await store.files.add(aFile({ caller: "bob" }))).taken, true)
    const one = await other.files.one(file.file_id)
    assert.ok(one !== null)
    const { number, ...rest } = one
    const { most: _, ...stored } = file
    assert.deepEqual(
      { ...rest, key: Buffer.from(rest.key) },
      { ...stored, key: Buffer.from(file.key), expires_at: later },
    )
    assert.deepEqual(await other.files.totals("ann"), { bytes: 100, files: 2 })
    assert.deepEqual(await other.files.totals(null), { bytes: 200, files: 3 })
    const page = await other.files.list("ann", 1, 0)
    assert.deepEqual(
      page.map(({ name }) => name),
      ["b.txt"],
    )
    const rest2 = await other.files.list("ann", 5, page[0]?.number ?? 0)
    assert.deepEqual(
      rest2.map(({ name }) => name),
      ["a.txt"],
    )
    assert.deepEqual(await other.files.named([file.object, "nothing"]), [file.object])
    assert.equal(await other.files.one("file_none"), null)
    assert.ok(number > 0)
  })

  onBench("the contents of a deleted file count until their object goes", async ({ store, other, clock }) => {
    const file = aFile({ bytes: 600 })
    await store.files.add(file)
    assert.deepEqual(await other.files.add(aFile({ sha256: "bb", bytes: 600 })), { outcome: "full", taken: false })
    assert.equal(await other.files.delete(file.file_id), "deleted")
    assert.equal(await store.files.delete(file.file_id), "gone")
    assert.equal(await store.files.one(file.file_id), null)
    assert.equal((await store.files.add(aFile({ sha256: "bb", bytes: 600 }))).outcome, "full")
    assert.deepEqual(await store.files.dueObjects(10), [])
    // The same contents make a new object: the old one may go at any moment.
    assert.equal((await store.files.add(aFile({ bytes: 300 }))).taken, true)
    clock.advance(objectGraceMs)
    assert.deepEqual(await other.files.dueObjects(10), [file.object])
    await other.files.forget([file.object])
    assert.deepEqual(await store.files.dueObjects(10), [])
    assert.deepEqual(await store.files.totals("ann"), { bytes: 300, files: 1 })
    assert.deepEqual(await store.files.named([file.object]), [])
  })

  onBench("contents stay while another file has them", async ({ store, other, clock }) => {
    const [one, two] = [aFile(), aFile({ name: "b.txt" })]
    await store.files.add(one)
    await store.files.add(two)
    await other.files.delete(one.file_id)
    clock.advance(objectGraceMs)
    assert.deepEqual(await other.files.dueObjects(10), [])
    assert.equal((await store.files.one(two.file_id))?.object, one.object)
    await store.files.forget([one.object])
    assert.notEqual(await store.files.one(two.file_id), null)
    await store.files.delete(two.file_id)
    clock.advance(objectGraceMs)
    assert.deepEqual(await other.files.dueObjects(10), [one.object])
  })

  onBench("a run refers to its files from its admission on", async ({ store, other, clock }) => {
    const file = aFile({ expires_at: clock.now() + hour })
    await store.files.add(file)
    const foreign = await store.create(aRun({ caller: "bob", files: [file.file_id] }), owner, leaseMs)
    assert.deepEqual(foreign, { outcome: "file gone", file_id: file.file_id })
    const gone = await store.create(
      aRun({ caller: "ann", run_id: "none-1", files: [file.file_id, "file_x"] }),
      owner,
      leaseMs,
    )
    assert.deepEqual(gone, { outcome: "file gone", file_id: "file_x" })
    assert.equal((await other.lookup("none-1")).found, "nothing")

    const lease = await created(store, { caller: "ann", run_id: "user-1", files: [file.file_id] })
    assert.equal(await other.files.delete(file.file_id), "used")
    assert.deepEqual(await other.files.runsOf(file.file_id), ["user-1"])
    clock.advance(2 * hour)
    await store.sweep(0)
    assert.notEqual(await other.files.one(file.file_id), null)
    await store.append(lease, [ended(1)])
    await store.sweep(0)
    assert.notEqual(await other.files.one(file.file_id), null)
    assert.equal(await store.delete("user-1"), "deleted")
    await store.sweep(0)
    assert.equal(await other.files.one(file.file_id), null)
    clock.advance(objectGraceMs)
    assert.deepEqual(await other.files.dueObjects(10), [file.object])
  })

  onBench("a file of an ended run can be deleted", async ({ store, other }) => {
    const file = aFile()
    await store.files.add(file)
    const lease = await created(store, { caller: "ann", run_id: "ender-1", files: [file.file_id] })
    await store.append(lease, [ended(1)])
    assert.equal(await other.files.delete(file.file_id), "deleted")
    assert.deepEqual(await store.files.ofRun("ender-1"), [])
    assert.equal(await other.delete("ender-1"), "deleted")
  })

  onBench("a step that makes its file again makes the same one", async ({ store, other, clock }) => {
    await created(store, { caller: "ann", run_id: "maker-1" })
    const file = aFile({ file_id: "file_made1", made: { run_id: "maker-1", step: "agent.write" } })
    assert.equal((await store.files.add(file)).outcome, "stored")
    const again = await other.files.add({ ...file, object: "another0123456789" })
    assert.deepEqual([again.outcome, again.taken], ["known", false])
    // A file that the caller sends is another one, with the same contents.
    assert.deepEqual(await store.files.add(aFile()).then(({ outcome, taken }) => [outcome, taken]), ["stored", false])
    const [made, ...more] = await other.files.ofRun("maker-1")
    assert.deepEqual([made?.file_id, made?.origin, made?.step, more.length], ["file_made1", "made", "agent.write", 0])
    clock.advance(10 * 365 * 24 * hour)
    await other.sweep(0)
    assert.deepEqual((await store.files.ofRun("maker-1")).length, 1)
    assert.deepEqual(await store.files.totals("ann"), { bytes: 100, files: 1 })
  })

  onBench(
    "a run takes over files of another run, all or none, and they outlive that run",
    async ({ store, other, clock }) => {
      const lease = await created(store, { caller: "ann", run_id: "giver-1" })
      const file = aFile({ file_id: "file_made2", made: { run_id: "giver-1", step: "agent.write" } })
      await store.files.add(file)
      await store.append(lease, [ended(1)])
      await created(store, { caller: "ann", run_id: "taker-1" })
      assert.equal(await other.files.use("taker-1", "ann", ["file_made2", "file_gone"], "agent.write"), false)
      assert.equal(await other.files.use("taker-1", "bob", ["file_made2"], "agent.write"), false)
      assert.deepEqual(await store.files.runsOf("file_made2"), ["giver-1"])
      for (let n = 0; n < 2; n++) {
        assert.equal(await other.files.use("taker-1", "ann", ["file_made2"], "agent.write"), true)
      }
      assert.deepEqual(
        (await store.files.ofRun("taker-1")).map(({ file_id, origin, step }) => [file_id, origin, step]),
        [["file_made2", "made", "agent.write"]],
      )
      assert.equal(await store.delete("giver-1"), "deleted")
      clock.advance(10 * 365 * 24 * hour)
      await other.sweep(0)
      assert.deepEqual(await store.files.runsOf("file_made2"), ["taker-1"])
    },
  )

  onBench("a file whose time is over goes", async ({ store, other, clock }) => {
    const file = aFile({ expires_at: clock.now() + hour })
    await store.files.add(file)
    await other.sweep(0)
    assert.notEqual(await store.files.one(file.file_id), null)
    clock.advance(hour)
    await other.sweep(0)
    assert.equal(await store.files.one(file.file_id), null)
  })
}
