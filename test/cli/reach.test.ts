import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { folderWith, runWire } from "./run-wire.ts"

const flow = `input { mail: untrusted string }
provider demo from openai { endpoint: "demo" }
model small from demo { id: "demo" }
agent read { model: model.small  instruction: "{{ input.mail }}"  output { ok: boolean } }
output { ok: agent.read.ok }
`

describe("wire reach", () => {
  test("says what a workflow can do, as words, tables or JSON, and finds growth", async () => {
    const folder = folderWith({ "flow.wire": flow })
    const file = join(folder, "flow.wire")
    const kept = join(folder, "flow.reach.json")
    const words = await runWire(["reach", file])
    assert.equal(words.code, 0)
    assert.match(words.out, /agent\.read is quarantined: it reads input\.mail/)
    assert.match(
      (await runWire(["reach", file, "--markdown"])).out,
      /\| 🟢 `agent\.read` \| quarantined \| `input\.mail` \|/,
    )
    const json = await runWire(["reach", file, "--json"])
    writeFileSync(kept, json.out)
    assert.deepEqual(await runWire(["reach", file, "--check", kept]), { code: 0, out: "", err: "" })
    writeFileSync(
      file,
      flow.replace(
        "output { ok: agent.read.ok }",
        `output { ok: agent.read.ok  mail: release input.mail because "x" }`,
      ),
    )
    const grown = await runWire(["reach", file, "--check", kept])
    assert.equal(grown.code, 1)
    assert.equal(grown.out, `+ output.mail: release input.mail because "x"\n`)
    assert.match(grown.err, /^The reach of .*flow\.wire grew\. If that is right: wire reach /)
  })

  test("a wrong workflow, a missing file and a file that is none", async () => {
    const folder = folderWith({ "bad.wire": "agent {", "flow.wire": flow, "none.json": "{}" })
    assert.equal((await runWire(["reach", join(folder, "bad.wire")])).code, 1)
    assert.equal((await runWire(["reach", join(folder, "missing.wire")])).code, 1)
    const none = await runWire(["reach", join(folder, "flow.wire"), "--check", join(folder, "none.json")])
    assert.equal(none.code, 1)
    assert.match(none.err, /does not hold the JSON of a reach/)
  })
})
