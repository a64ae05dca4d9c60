import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { readdirSync, readFileSync, statSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { folderWith, runWire } from "./run-wire.ts"

const untidy = `// Greets.
input { name: string }
output   {
  text: "Hello {{ input.name }}"   // the greeting
}`
const tidy = `// Greets.
input {
    name: string
}

output {
    text: "Hello {{ input.name }}" // the greeting
}
`
const broken = "output {\n  text \n"

function read(cwd: string, file: string): string {
  return readFileSync(join(cwd, file), "utf8")
}

describe("wire fmt", () => {
  test("writes in place what is not canonical, and touches nothing else", async () => {
    const cwd = folderWith({ "a.wire": untidy, "deep/b.wire": tidy, "c.wire": untidy.replaceAll("\n", "\r\n") })
    const past = new Date("2020-01-01T00:00:00Z")
    utimesSync(join(cwd, "deep/b.wire"), past, past)
    const { code, out, err } = await runWire(["fmt", "."], { cwd })
    assert.equal(code, 0)
    assert.equal(out, "a.wire\nc.wire\n")
    assert.equal(err, "2 files changed, 1 file formatted already.\n")
    assert.equal(read(cwd, "a.wire"), tidy)
    assert.equal(read(cwd, "c.wire"), tidy)
    assert.equal(read(cwd, "deep/b.wire"), tidy)
    assert.equal(statSync(join(cwd, "deep/b.wire")).mtimeMs, past.getTime())
    assert.deepEqual(readdirSync(cwd).toSorted(), ["a.wire", "c.wire", "deep"])

    const again = await runWire(["fmt", "."], { cwd })
    assert.deepEqual(again, { code: 0, out: "", err: "3 files formatted already.\n" })
  })

  test("--check writes nothing and fails where something would change", async () => {
    const cwd = folderWith({ "a.wire": untidy, "b.wire": tidy })
    assert.deepEqual(await runWire(["fmt", "--check", "."], { cwd }), {
      code: 1,
      out: "a.wire\n",
      err: "1 file would change, 1 file formatted already.\n",
    })
    assert.equal(read(cwd, "a.wire"), untidy)
    assert.equal((await runWire(["fmt", "--check", "b.wire"], { cwd })).code, 0)
  })

  test("broken and unreadable files are reported and left as they are, the others are formatted", async () => {
    const latin1 = Buffer.from("// caf\xe9\n", "latin1")
    const cwd = folderWith({ "a.wire": broken, "b.wire": latin1, "c.wire": untidy })
    const { code, out, err } = await runWire(["fmt", "."], { cwd })
    assert.equal(code, 1)
    assert.equal(out, "c.wire\n")
    assert.match(err, /^a\.wire:2:\d+: error: .* \[syntax-error\]$/m)
    assert.match(err, /^b\.wire: error: is not UTF-8: bad byte 0xe9 in line 1$/m)
    assert.match(err, /^1 file changed, 2 files could not be formatted\.$/m)
    assert.equal(read(cwd, "a.wire"), broken)
    assert.deepEqual(readFileSync(join(cwd, "b.wire")), latin1)
    assert.equal(read(cwd, "c.wire"), tidy)
  })

  test("what only the checker refuses is formatted", async () => {
    const cwd = folderWith({ "a.wire": "output { x: agent.nobody.y }" })
    assert.equal((await runWire(["fmt", "a.wire"], { cwd })).code, 0)
    assert.equal(read(cwd, "a.wire"), "output {\n    x: agent.nobody.y\n}\n")
  })

  test("--stdin prints the text, and nothing of a broken one", async () => {
    assert.deepEqual(await runWire(["fmt", "--stdin"], { input: untidy }), { code: 0, out: tidy, err: "" })
    assert.deepEqual(await runWire(["fmt", "--stdin"], { input: "" }), { code: 0, out: "", err: "" })
    const refused = await runWire(["fmt", "--stdin"], { input: broken })
    assert.equal(refused.code, 1)
    assert.equal(refused.out, "")
    assert.match(refused.err, /^<stdin>:2:\d+: error: /m)
    assert.equal((await runWire(["fmt", "--stdin", "--check"], { input: tidy })).code, 0)
    assert.equal((await runWire(["fmt", "--stdin", "--check"], { input: untidy })).code, 1)
  })

  test("mistakes of the command line", async () => {
    const cwd = folderWith({ "a.wire": untidy })
    for (const args of [["fmt"], ["fmt", "--stdin", "a.wire"], ["fmt", "gone.wire"]]) {
      const { code, out, err } = await runWire(args, { cwd })
      assert.equal(code, 2, args.join(" "))
      assert.equal(out, "")
      assert.notEqual(err, "")
    }
    assert.equal(read(cwd, "a.wire"), untidy)
  })

  test("help with examples", async () => {
    const { code, out } = await runWire(["fmt", "--help"])
    assert.equal(code, 0)
    assert.match(out, /Examples:\n {2}wire fmt flow\.wire/)
  })
})
