import assert from "node:assert/strict"
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test, type TestContext } from "node:test"
import { clockFile } from "./clock-file.ts"

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "wireworks-clock-"))
  t.after(() => {
    chmodSync(made, 0o700)
    rmSync(made, { recursive: true, force: true })
  })
  return made
}

test("the time is the kernel's, whatever the clock of the process says, and leaves no file behind", async (t) => {
  const made = folder(t)
  const { time } = clockFile(join(made, "wire.db"), () => 0)
  const before = Date.now()
  for (let count = 0; count < 20; count++) assert.ok(Math.abs((await time()) - before) < 30_000)
  assert.deepEqual(readdirSync(made), [])
})

test("what a process has learned, the next one on the machine reads; other machines and damaged files say nothing", (t) => {
  const path = join(folder(t), "wire.db")
  const one = clockFile(path, () => 0)
  assert.equal(one.learned?.read(), null)
  one.learned?.write(1_234.5)
  const isLinux = existsSync("/proc/sys/kernel/random/boot_id")
  assert.equal(clockFile(path, () => 0).learned?.read(), isLinux ? 1_234.5 : null)
  assert.equal(statSync(`${path}-clock`).mode & 0o777, 0o600)
  for (const text of ["", "{", "[]", "null", '{"boot":"another","offset":5}', '{"offset":5}']) {
    writeFileSync(`${path}-clock`, text)
    assert.equal(one.learned?.read(), null, text)
  }
})

test("a folder that takes no file leaves the clock of the process", async (t) => {
  const { time, learned } = clockFile(join(folder(t), "gone", "wire.db"), () => 77)
  assert.equal(await time(), 77)
  learned?.write(1)
  assert.equal(learned?.read(), null)
})
