import assert from "node:assert/strict"
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, test } from "node:test"
import { clearDeadHolders, holdDatabase, isAlive } from "./holder.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-holder-"))
after(() => rmSync(scratch, { recursive: true }))
const path = join(scratch, "wire.db")

describe("holder", () => {
  test("is alive until it lets go", () => {
    const [one, two] = [holdDatabase(path), holdDatabase(path)]
    assert.notEqual(one.id, two.id)
    for (const _ of [1, 2]) assert.deepEqual([isAlive(path, one.id), isAlive(path, two.id)], [true, true])
    one.release()
    assert.deepEqual([isAlive(path, one.id), isAlive(path, two.id)], [false, true])
    two.release()
    assert.deepEqual(readdirSync(scratch), [])
  })

  test("an unknown one is dead", () => {
    assert.equal(isAlive(path, "0123456789abcdef"), false)
    assert.deepEqual(readdirSync(scratch), [])
  })

  test("what the dead left is cleared, but nothing of the living, the newborn, or others", () => {
    const living = holdDatabase(path)
    const names = ["wire.db-holder-00000000000000aa", "wire.db-holder-00000000000000bb", "wire.db-holder-mine.txt"]
    for (const name of names) writeFileSync(join(scratch, name), "")
    const longAgo = new Date(Date.now() - 60_000)
    for (const name of [`wire.db-holder-${living.id}`, names[0] ?? "", names[2] ?? ""]) {
      utimesSync(join(scratch, name), longAgo, longAgo)
    }
    clearDeadHolders(path)
    assert.deepEqual(readdirSync(scratch).sort(), [`wire.db-holder-${living.id}`, ...names.slice(1)].sort())
    assert.equal(isAlive(path, living.id), true)
    living.release()
  })
})
