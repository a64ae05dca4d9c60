import assert from "node:assert/strict"
import { execFile, spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { promisify } from "node:util"
import { hello, startService } from "../contract/http/start-service.ts"
import { folderWith, runWire } from "./run-wire.ts"

const rich = `// Two lines
// of it.
schema part { title: string children: [schema.part] }
/// How it went.
schema outcome { variant kind { done { score: integer }  failed { reason: maybe string } } }
input {
    /// The root.
    root: schema.part
    mode: enum { short, long }
    pair: (string, integer)
    three: [number; 3]
    class: boolean
    results: [schema.outcome]
    anything: object
}
output { root: input.root results: input.results mode: input.mode }
`

describe("wire types", () => {
  test("writes TypeScript that tsc --strict takes", async () => {
    const folder = folderWith({ "w/hello.wire": hello, "w/deep/rich.wire": rich, "w/_hidden.wire": "agent {" })
    const out = join(folder, "wire.d.ts")
    const { code, err } = await runWire(["types", join(folder, "w"), "--out", out])
    assert.deepEqual([code, err], [0, `Wrote the types of 2 workflows to ${out}.\n`])
    const text = readFileSync(out, "utf8")
    assert.match(text, /"deep\/rich": \{ input: DeepRichInput; output: DeepRichOutput \}/)
    assert.match(text, /export type DeepRichPart = \{\n {2}title: string\n {2}children: DeepRichPart\[\]\n\}/)
    writeFileSync(
      join(folder, "use.ts"),
      `import type { Workflows } from "./wire.d.ts"
const input: Workflows["deep/rich"]["input"] = {
  root: { title: "a", children: [{ title: "b", children: [] }] },
  mode: "short",
  pair: ["a", 1],
  three: [1, 2, 3],
  class: true,
  results: [{ kind: "done", score: 1 }, { kind: "failed", reason: null }],
  anything: {},
}
// @ts-expect-error: not one of the modes
const wrong: Workflows["deep/rich"]["input"]["mode"] = "medium"
// @ts-expect-error: no such workflow
type Missing = Workflows["nothing"]
export { input, wrong, type Missing }
`,
    )
    const tsc = join(import.meta.dirname, "../../node_modules/.bin/tsc")
    const args = [
      "--strict",
      "--noEmit",
      "--module",
      "nodenext",
      "--allowImportingTsExtensions",
      join(folder, "use.ts"),
    ]
    const { stdout } = spawnSync(tsc, args, { encoding: "utf8", cwd: folder })
    assert.equal(stdout, "")
  })

  test("writes Python that python3 takes, and JSON Schemas", async () => {
    const folder = folderWith({ "w/hello.wire": hello, "w/deep/rich.wire": rich })
    const out = join(folder, "workflows.py")
    assert.equal((await runWire(["types", join(folder, "w"), "--lang", "python", "--out", out])).code, 0)
    const compiled = spawnSync("python3", ["-m", "py_compile", out], { encoding: "utf8" })
    assert.deepEqual([compiled.status, compiled.stderr], [0, ""])
    const used = spawnSync(
      "python3",
      ["-c", "import workflows, typing; print(sorted(typing.get_type_hints(workflows.HelloInput)))"],
      { encoding: "utf8", cwd: folder },
    )
    assert.deepEqual([used.stdout, used.stderr], ["['name']\n", ""])
    const schemas = await runWire(["types", join(folder, "w"), "--lang", "json-schema"])
    const parsed = JSON.parse(schemas.out) as Record<string, { input: { required: string[] } }>
    assert.deepEqual(Object.keys(parsed), ["deep/rich", "hello"])
    assert.deepEqual(parsed["hello"]?.input.required, ["name"])
  })

  test("the Python of the guide calls a workflow with the types that are written for it", async () => {
    const triage = 'input { text: string }\noutput { level: "high" text: input.text }\n'
    const folder = folderWith({ "w/tickets/triage.wire": triage })
    const service = await startService({ WORKFLOWS: join(folder, "w") })
    const out = join(folder, "workflows.py")
    assert.equal((await runWire(["types", join(folder, "w"), "--out", out])).code, 0)
    const guide = readFileSync(join(import.meta.dirname, "../../docs/workflows.md"), "utf8")
    const [, snippet = ""] = /```python\n([^]*?)```/.exec(guide) ?? []
    const called = snippet.replace("https://wire.example.com", service.url)
    assert.notEqual(called, snippet)
    writeFileSync(join(folder, "call.py"), `${called}print(json.dumps(output))\n`)
    const env = { ...process.env, WIRE_KEY: "any", NO_PROXY: "127.0.0.1" }
    const { stdout } = await promisify(execFile)("python3", ["call.py"], { cwd: folder, env, timeout: 300_000 })
    assert.deepEqual(JSON.parse(stdout), { level: "high", text: "The site is down" })
  })

  test("--check says when the file is out of date", async () => {
    const folder = folderWith({ "w/hello.wire": hello })
    const args = ["types", join(folder, "w"), "--out", join(folder, "wire.d.ts")]
    assert.equal((await runWire([...args, "--check"])).code, 1)
    assert.equal((await runWire(args)).code, 0)
    assert.equal((await runWire([...args, "--check"])).code, 0)
    writeFileSync(join(folder, "w/hello.wire"), hello.replace("name: string", "name: string\n  more: string"))
    const { code, err } = await runWire([...args, "--check"])
    assert.equal(code, 1)
    assert.match(err, /wire\.d\.ts is out of date/)
    assert.equal((await runWire(["types", join(folder, "w"), "--check"])).code, 2)
  })

  test("a broken workflow is reported, and nothing is written", async () => {
    const folder = folderWith({ "w/broken.wire": "agent x {" })
    const { code, err } = await runWire(["types", join(folder, "w"), "--out", join(folder, "wire.d.ts")])
    assert.equal(code, 1)
    assert.match(err, /broken\.wire/)
    assert.equal((await runWire(["types", join(folder, "nowhere")])).code, 1)
  })
})

describe("wire init", () => {
  test("writes a project whose workflow is valid, formatted, tested and typed", async () => {
    const folder = join(folderWith({}), "new")
    const { code, out } = await runWire(["init", folder])
    assert.equal(code, 0)
    assert.match(out, /wire serve workflows/)
    assert.equal((await runWire(["check", "workflows"], { cwd: folder })).code, 0)
    assert.equal((await runWire(["fmt", "--check", "workflows"], { cwd: folder })).code, 0)
    const tested = await runWire(["test", "workflows"], { cwd: folder })
    assert.equal(tested.code, 0, tested.out + tested.err)
    assert.equal((await runWire(["types", "workflows", "--out", "wire.d.ts"], { cwd: folder })).code, 0)
    for (const file of [".gitignore", "README.md", ".github/workflows/workflows.yml"]) {
      assert.ok(readFileSync(join(folder, file), "utf8").length > 0)
    }
  })

  test("overwrites nothing", async () => {
    const folder = folderWith({ "README.md": "mine" })
    const { code, err } = await runWire(["init", folder])
    assert.equal(code, 1)
    assert.match(err, /README\.md exists already: nothing was written/)
    assert.equal(readFileSync(join(folder, "README.md"), "utf8"), "mine")
  })
})
