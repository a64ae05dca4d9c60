import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, test } from "node:test"
import { promisify } from "node:util"
import { StoreFailure } from "../../ports/store.ts"
import { loadMasterKey, parseMasterKey } from "./master-key.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-key-"))
after(() => rmSync(scratch, { recursive: true }))

let count = 0
function source(configured?: string) {
  const directory = join(scratch, String(++count), "data")
  return { configured, file: join(directory, "wire.key"), database: join(directory, "wire.db") }
}

describe("master key", () => {
  test("32 bytes in hex, Base64, padded or not", () => {
    const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => (index * 37 + 250) % 256))
    for (const text of [
      bytes.toString("hex"),
      bytes.toString("hex").toUpperCase(),
      bytes.toString("base64"),
      bytes.toString("base64").replace("=", ""),
      bytes.toString("base64url"),
      ` ${bytes.toString("base64")}\n`,
    ]) {
      assert.deepEqual(parseMasterKey(text), bytes, text)
    }
    for (const text of ["", "secret", bytes.toString("hex").slice(1), bytes.toString("base64") + "A", "ä".repeat(43)]) {
      assert.equal(parseMasterKey(text), null, text)
    }
    assert.equal(parseMasterKey(bytes.subarray(1).toString("base64")), null)
    assert.equal(parseMasterKey(Buffer.alloc(33).toString("base64")), null)
  })

  test("a configured key wins, leaves no file, and a wrong one is named but not repeated", () => {
    const from = source("11".repeat(32))
    assert.deepEqual(loadMasterKey(from), Buffer.alloc(32, 0x11))
    assert.equal(existsSync(from.file), false)
    assert.throws(
      () => loadMasterKey({ ...from, configured: "hunter2hunter2" }),
      (error) =>
        error instanceof StoreFailure && /WIRE_ENCRYPTION_KEY/.test(error.message) && !/hunter2/.test(error.message),
    )
  })

  test("the first start makes a 0600 file, later ones read it", () => {
    const from = source()
    const key = loadMasterKey(from)
    assert.equal(key.length, 32)
    assert.equal(statSync(from.file).mode & 0o777, 0o600)
    assert.deepEqual(loadMasterKey(from), key)
    assert.deepEqual(readdirSync(join(from.file, "..")), ["wire.key"])
    assert.notDeepEqual(loadMasterKey(source()), key)
  })

  test("an empty setting counts as none", () => {
    const from = source("")
    assert.equal(loadMasterKey(from).length, 32)
    assert.equal(existsSync(from.file), true)
  })

  test("a file that others can read is made private", () => {
    const from = source()
    const key = loadMasterKey(from)
    chmodSync(from.file, 0o644)
    assert.deepEqual(loadMasterKey(from), key)
    assert.equal(statSync(from.file).mode & 0o777, 0o600)
  })

  test("a database whose key is gone gets no new one", () => {
    const from = source()
    loadMasterKey(from)
    rmSync(from.file)
    writeFileSync(from.database, "")
    assert.equal(loadMasterKey(from).length, 32)
    rmSync(from.file)
    writeFileSync(from.database, "SQLite format 3")
    assert.throws(() => loadMasterKey(from), /key file .*wire\.key is missing/)
    assert.equal(existsSync(from.file), false)
  })

  test("a damaged file and an impossible place are refused with a sentence", () => {
    const from = source()
    loadMasterKey(from)
    writeFileSync(from.file, "not a key\n")
    assert.throws(() => loadMasterKey(from), /does not hold an encryption key/)
    assert.equal(readFileSync(from.file, "utf8"), "not a key\n")
    const below = { ...from, file: join(from.file, "wire.key") }
    assert.throws(() => loadMasterKey(below), StoreFailure)
  })

  test("processes that start at the same time agree on one key", async () => {
    const from = source()
    const script = `
      import { loadMasterKey } from ${JSON.stringify(import.meta.resolve("./master-key.ts"))}
      console.log(Buffer.from(loadMasterKey(${JSON.stringify(from)})).toString("hex"))`
    const run = promisify(execFile)
    const outputs = await Promise.all(
      Array.from({ length: 4 }, () => run(process.execPath, ["--input-type=module", "--eval", script])),
    )
    assert.equal(new Set(outputs.map(({ stdout }) => stdout)).size, 1)
    assert.match(outputs[0]?.stdout ?? "", /^[0-9a-f]{64}\n$/)
  })
})
