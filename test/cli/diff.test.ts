import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { folderWith, runWire } from "./run-wire.ts"

const flow = `import { model.m } from "./lib.wire"
input { text: string }
agent sort { model: model.m  instruction: "Which team? {{ input.text }}"  output { team: enum { billing, product } } }
output { team: agent.sort.team }
`
const lib = `provider demo from openai { endpoint: "demo" }
model m from demo { id: "demo" }
`
const wider = flow.replace("billing, product", "billing, product, legal")

describe("wire diff", () => {
  test("of two files: words, tables, JSON, and areas that fail", async () => {
    const folder = folderWith({ "old.wire": flow, "new.wire": wider, "lib.wire": lib })
    const [old, now] = [join(folder, "old.wire"), join(folder, "new.wire")]
    const words = await runWire(["diff", old, now])
    assert.equal(words.code, 0)
    assert.match(
      words.out,
      /^new\.wire  [0-9a-f]{12} → [0-9a-f]{12}\n {2}contract {3}breaking: output\.team gained the value `legal`\n {2}steps {6}changed agent\.sort \(output\); after output; same: 0\n/,
    )
    assert.deepEqual(await runWire(["diff", old, old]), { code: 0, out: "No difference.\n", err: "" })
    const json = JSON.parse((await runWire(["diff", old, now, "--json"])).out) as Record<string, unknown>
    assert.deepEqual(json["contract"], [{ path: "output.team", change: "gained the value `legal`", breaking: true }])
    assert.deepEqual(Object.keys(json).slice(0, 3), ["name", "from", "to"])
    const table = (await runWire(["diff", old, now, "--markdown"])).out
    assert.match(table, /\| contract \| breaking: output\.team gained the value `legal` \|/)
    const failed = await runWire(["diff", old, now, "--fail-on", "reach,contract"])
    assert.deepEqual([failed.code, failed.err], [1, "Refused by --fail-on: the contract of new.wire breaks.\n"])
    assert.equal((await runWire(["diff", now, old, "--fail-on", "contract,reach,cost,trust"])).code, 0)
  })

  test("of a commit and a folder, with the files that each imports from its own side", async () => {
    const folder = folderWith({})
    const git = (...words: string[]): string =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...words], { cwd: folder }).toString()
    git("init", "-q", "-b", "main")
    mkdirSync(join(folder, "flows"))
    const write = (name: string, text: string): void => writeFileSync(join(folder, "flows", name), text)
    write("triage.wire", flow)
    write("lib.wire", lib)
    write("gone.wire", `output { a: 1 }\n`)
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    write("lib.wire", lib.replace(`id: "demo"`, `id: "demo-fast"`))
    git("rm", "-q", "flows/gone.wire")
    write("added.wire", `output { a: 1 }\n`)
    const run = (...words: string[]): ReturnType<typeof runWire> => runWire(["diff", ...words], { cwd: folder })
    const { code, out, err } = await run("git:main:flows", "flows")
    assert.deepEqual([code, err], [0, ""])
    assert.match(out, /^added {2}\(new\) → [0-9a-f]{12}\n\ngone {2}[0-9a-f]{12} → \(removed\)\n\ntriage {2}/)
    assert.match(out, /changed agent\.sort \(model\)/)
    const one = await run("git:main:flows/triage.wire", "flows/triage.wire")
    assert.match(one.out, /changed agent\.sort \(model\)/)
    const failed = await run("git:main:flows", "flows", "--fail-on", "contract")
    assert.match(failed.err, /the contract of gone breaks/)
    for (const [argument, message] of [
      ["git:nowhere:flows", /git knows no commit `nowhere`/],
      ["git:main:missing.wire", /main has no such file/],
      ["git:main:../..", /leaves the repository/],
      ["git:--output=x:flows", /git knows no commit/],
    ] as const) {
      const wrong = await run(argument, "flows")
      assert.equal(wrong.code, 1, argument)
      assert.match(wrong.err, message)
    }
    assert.equal((await run("git:flows", "flows")).code, 2)
    assert.equal((await run("git:main:flows", "flows/triage.wire")).code, 2)
    assert.equal((await run("flows/missing.wire", "flows/triage.wire")).code, 1)
    assert.equal((await run("git:main:flows", "flows", "--fail-on", "speed")).code, 2)
  })
})
