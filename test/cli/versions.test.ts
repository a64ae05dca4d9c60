import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import type { VersionAnswer } from "../../src/client/client.ts"
import { hello, startService } from "../contract/http/start-service.ts"
import { createClient } from "../support/built-client.ts"
import { folderWith, runWire, type Ended } from "./run-wire.ts"

describe("wire versions", async () => {
  const folder = folderWith({ "greet.wire": hello })
  const service = await startService({ WORKFLOWS: folder })
  const wire = (...args: string[]): Promise<Ended> => runWire(args, { env: { WIRE_URL: service.url } })
  const list = async (): Promise<readonly VersionAnswer[]> =>
    (JSON.parse((await wire("versions", "greet")).out) as { versions: VersionAnswer[] }).versions

  test("lists, serves and withdraws versions", async () => {
    const [first] = await list()
    const old = first?.version ?? ""
    writeFileSync(join(folder, "greet.wire"), hello.replace("Greet", "Welcome"))
    let versions = await list()
    while (versions.length < 2) versions = await list()
    assert.deepEqual(
      versions.map(({ serving }) => serving),
      ["current", null],
    )
    const current = versions[0]?.version
    const served = await wire("versions", "serve", "greet", old)
    assert.deepEqual(JSON.parse(served.out), { name: "greet", version: old, pinned: true })
    const file = await wire("versions", "serve", "greet", "--file")
    assert.deepEqual(JSON.parse(file.out), { name: "greet", version: current })
    assert.equal((await wire("versions", "withdraw", "greet", old)).code, 0)
    assert.equal((await list())[1]?.withdrawn, true)
    const wrong = await wire("versions", "serve", "greet")
    assert.deepEqual([wrong.code, wrong.err.trim()], [2, "Give a version, or --file."])
    const unknown = await wire("versions", "withdraw", "greet", "ffffffffffff")
    assert.deepEqual([unknown.code, /There is no version ffffffffffff of greet/.test(unknown.err)], [1, true])
  })

  test("the client has the same", async () => {
    const client = createClient({ baseUrl: service.url })
    const { version: now } = await client.workflowDetail("greet")
    const versions = await client.versions("greet")
    const [other] = versions.filter(({ version }) => version !== now)
    assert.equal((await client.version("greet", other?.version ?? "")).source, hello)
    const diff = await client.diffVersions("greet", other?.version ?? "", now ?? "")
    assert.equal(diff.steps.changed.length, 1)
    const { output } = await client.workflow("greet").execute({ name: "Ada" }, { version: now ?? "" })
    assert.match(JSON.stringify(output), /Ada/)
    assert.equal((await client.serveVersion("greet", null)).version, now)
  })
})
