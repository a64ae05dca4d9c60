import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { before, describe, test } from "node:test"
import { findNode, whyNoNode } from "../scripts/other-nodes.mjs"
import { startService } from "./cli/run-wire.ts"

// `npm start` with real signals, along the whole chain: npm, its shell, the start script, the service.

const root = dirname(import.meta.dirname)
const start = join(root, "scripts", "start.mjs")

function commandOfChild(pid: number | undefined): string {
  const child = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  return readFileSync(`/proc/${child}/cmdline`, "utf8")
}

async function isGone(address: string): Promise<boolean> {
  return fetch(`${address}/healthz`).then(
    () => false,
    () => true,
  )
}

describe("npm start", { skip: process.platform === "win32" && "signals are not Windows'" }, () => {
  // The first start builds; the others must find nothing left to do.
  before(async () => {
    const service = await startService(process.execPath, [start, "--port", "0"])
    service.child.kill("SIGTERM")
    await service.ended
  })

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`${signal} to npm stops the service`, async () => {
      const service = await startService("npm", ["start", "--", "--port", "0"])
      assert.equal((await fetch(`${service.address}/healthz`)).status, 200)
      assert.doesNotMatch(service.output(), /Building|Installing/)
      service.child.kill(signal)
      assert.deepEqual(await service.ended, { code: 0, signal: null })
      assert.ok(await isGone(service.address))
    })
  }

  test("settings pass through", async () => {
    const service = await startService("npm", ["start"], { WIRE_PORT: "0", WIRE_API_KEYS: "ann:k" })
    assert.doesNotMatch(service.output(), /open to everyone/)
    service.child.kill("SIGTERM")
    assert.equal((await service.ended).code, 0)
  })

  test("a start that fails fails npm, with the service's exit code", async () => {
    await assert.rejects(startService("npm", ["start", "--", "--port", "x"]), /Ended with code 2/)
  })

  test("then `npx wire` works", () => {
    const { stdout, stderr } = spawnSync("npx", ["wire", "check", "examples/hello.wire"], {
      cwd: root,
      encoding: "utf8",
    })
    assert.equal(stdout, "Checked 1 file: no problems.\n", stderr)
  })

  const older = findNode("20.0.0")
  const skip = older === null && whyNoNode("20.0.0")
  test("from an older Node it serves on the pinned one, and hands signals on", { skip }, async () => {
    assert.ok(older !== null)
    const service = await startService(older, [start, "--port", "0"])
    assert.equal((await fetch(`${service.address}/healthz`)).status, 200)
    if (process.platform === "linux")
      assert.match(commandOfChild(service.child.pid), /^[^\0]*node_modules\/node-linux-\w+\/bin\/node\0/)
    service.child.kill("SIGTERM")
    assert.deepEqual(await service.ended, { code: 0, signal: null })
    assert.ok(await isGone(service.address))
  })
})
