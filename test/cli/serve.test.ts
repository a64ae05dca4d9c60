import assert from "node:assert/strict"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { describe, test } from "node:test"
import { folderWith, runWire, startWire } from "./run-wire.ts"
import { soakTest } from "../support/strength.ts"

describe("wire serve", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`listens, answers, and ends with code 0 on ${signal}`, async () => {
      const service = await startWire(["serve", "--port", "0", "--data-dir", folderWith({})])
      const health = await fetch(`${service.address}/healthz`)
      assert.equal(health.status, 200)
      assert.equal((await fetch(`${service.address}/readyz`)).status, 200)
      const nothing = await fetch(`${service.address}/nothing`)
      assert.equal(nothing.status, 404)
      assert.match(await nothing.text(), /"kind":"not_found"/)
      service.child.kill(signal)
      assert.deepEqual(await service.ended, { code: 0, signal: null })
    })
  }

  test("serves a folder of workflows, and names the files that it refuses", async () => {
    const good = 'input { name: string }\noutput { greeting: "Hello {{ input.name }}" }\n'
    const folder = folderWith({ "a/good.wire": good, "odd name.wire": good, "broken.wire": "agent {\n" })
    for (const args of [
      ["serve", folder, "--port", "0"],
      ["serve", "--port", "0", "--workflows", folder],
    ]) {
      const service = await startWire(args, { WIRE_STORE: "memory" })
      const response = await fetch(`${service.address}/workflows/a/good/execute`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ input: { name: "Ada" } }),
      })
      assert.deepEqual(await response.json(), { greeting: "Hello Ada" })
      service.child.kill("SIGTERM")
      assert.equal((await service.ended).code, 0)
      assert.match(service.output(), /workflows +2 files of .*refused: odd name/)
      assert.match(service.output(), /The workflow broken: .*syntax-error/)
    }
  })

  test("settings come from the environment, flags win", async () => {
    const env = { WIRE_PORT: "1", WIRE_API_KEYS: "ann:k", WIRE_DATA_DIR: folderWith({}) }
    const service = await startWire(["serve", "--port", "0"], env)
    assert.doesNotMatch(service.output(), /open to everyone/)
    service.child.kill("SIGTERM")
    assert.equal((await service.ended).code, 0)
  })

  test("a wrong setting stops the start with a sentence that names it", async () => {
    const { code, err } = await runWire(["serve", "--max-body", "big"], { env: { WIRE_PORT: "80x", WIRE_PROT: "1" } })
    assert.equal(code, 2)
    assert.deepEqual(err.split("\n"), [
      "WIRE_PROT is not a setting; did you mean WIRE_PORT?",
      'WIRE_PORT is "80x": it must be a whole number from 0 to 65535.',
      '--max-body is "big": it must be a size such as 512kb or 8mb.',
      "",
    ])
  })

  soakTest("a wrong encryption key stops the start whatever the store", async () => {
    for (const store of ["memory", "sqlite"]) {
      const { code, err } = await runWire(["serve", "--port", "0", "--store", store], {
        env: { WIRE_ENCRYPTION_KEY: "short" },
      })
      assert.equal(code, 1)
      assert.equal(err, "WIRE_ENCRYPTION_KEY must be 32 bytes in Base64 or hex.\n")
    }
  })

  test("a data folder that cannot be one is named", async () => {
    const folder = folderWith({ file: "" })
    const { code, err } = await runWire(["serve", "--port", "0", "--data-dir", join(folder, "file", "data")])
    assert.equal(code, 1)
    assert.match(err, /^WIRE_DATA_DIR is ".*data": it must be a folder that can be written to \(.*\)\.\n$/)
  })

  soakTest("a data folder in a file system without folders is named, and not waited for", async () => {
    const { code, err } = await runWire(["serve", "--port", "0", "--data-dir", "/proc/x/y"])
    assert.equal(code, 1)
    assert.match(err, /^WIRE_DATA_DIR is "\/proc\/x\/y": it must be a folder/)
  })

  soakTest("an invalid egress policy stops the start", async () => {
    for (const [written, problem] of [
      ["Private", "write private"],
      ["PUBLIC", "write public"],
      ["all", "it is private, public, or hosts"],
      ["none", "it is private, public, or hosts"],
    ] as const) {
      const { code, err } = await runWire(["serve", "--port", "0", "--store", "memory", "--egress", written])
      assert.equal(code, 1)
      assert.ok(err.startsWith(`WIRE_EGRESS holds "${written}": ${problem}`), err)
    }
  })

  test("the start says what it listens on and where workflows may call", async () => {
    const all = await startWire(["serve", "--port", "0", "--store", "memory"], { WIRE_HOST: "0.0.0.0" })
    const { port } = new URL(all.address)
    assert.equal(all.address, `http://0.0.0.0:${port}`)
    assert.match(all.output(), new RegExp(`playground +http://127.0.0.1:${port}/playground`))
    assert.match(all.output(), /egress +public addresses \(WIRE_EGRESS\)/)
    const own = await startWire(["serve", "--port", "0", "--store", "memory"])
    assert.match(own.output(), /egress +public and private addresses \(cloud metadata excluded\) \(WIRE_EGRESS\)/)
    for (const service of [all, own]) {
      service.child.kill("SIGTERM")
      assert.equal((await service.ended).code, 0)
    }
  })

  test("a port that is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => other.once("listening", resolve))
    const { port } = other.address() as AddressInfo
    const { code, err } = await runWire(["serve", "--port", String(port), "--data-dir", folderWith({})])
    other.close()
    assert.equal(code, 1)
    assert.equal(err, `Port ${port} of 127.0.0.1 is taken: set WIRE_PORT to another one.\n`)
  })
})
