import assert from "node:assert/strict"
import { execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { promisify } from "node:util"
import { hello, startService } from "../contract/http/start-service.ts"
import { builtWire } from "../support/built-wire.ts"
import { folderWith, runWire } from "./run-wire.ts"
import { isSoak } from "../support/strength.ts"
import { within } from "../support/within.ts"

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

const scan = "input { one: file  more: [file] }\noutput { one: input.one }\n"

describe("wire types", () => {
  test("writes TypeScript that tsc --strict takes", async () => {
    const folder = folderWith({
      "w/hello.wire": hello,
      "w/deep/rich.wire": rich,
      "w/scan.wire": scan,
      "w/_hidden.wire": "agent {",
    })
    const out = join(folder, "wire.d.ts")
    const { code, err } = await runWire(["types", join(folder, "w"), "--out", out])
    assert.deepEqual([code, err], [0, `Wrote the types of 3 workflows to ${out}.\n`])
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
class LocalFile {
  readonly path = "a.pdf"
  readonly options = { name: "b.pdf" }
}
const scans: Workflows["scan"]["input"][] = [
  { one: { file_id: "file_1" }, more: [{ url: "https://example.com/a.png" }, "data:;base64,AA", new Blob(["a"])] },
  { one: new LocalFile(), more: [new Uint8Array(2), new Blob(["a"]).stream(), { data: "AA", name: "a.txt" }] },
]
const name = (output: Workflows["scan"]["output"]): string => output.one.name
// @ts-expect-error: a path is not a file
const path: Workflows["scan"]["input"]["one"] = { path: "a.pdf" }
// @ts-expect-error: not one of the modes
const wrong: Workflows["deep/rich"]["input"]["mode"] = "medium"
// @ts-expect-error: no such workflow
type Missing = Workflows["nothing"]
export { input, wrong, scans, name, path, type Missing }
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

  test("types the answers to questions; what a question begins with may be left out", async () => {
    const asks = `
schema verdict { good: boolean }
input { title: string }
ask review {
    question: "Send?"
    prefill: { note: input.title }
    output { send: boolean  note: string  reason: maybe string  verdict: schema.verdict }
}
output { sent: ask.review.send }
`
    const folder = folderWith({ "w/mails/send.wire": asks })
    assert.equal((await runWire(["types", join(folder, "w"), "--out", join(folder, "wire.d.ts")])).code, 0)
    const text = readFileSync(join(folder, "wire.d.ts"), "utf8")
    assert.match(text, /output: MailsSendOutput; answers: \{ review: MailsSendReviewAnswer \} \}/)
    writeFileSync(
      join(folder, "use.ts"),
      `import { createClient } from ${JSON.stringify(join(import.meta.dirname, "../../src/client/client.ts"))}
import type { Workflows } from "./wire.d.ts"
const run = createClient<Workflows>().workflow("mails/send").run("id")
void run.answer("review", { send: true, verdict: { good: true } })
// @ts-expect-error: a field of another type
void run.answer("review", { send: 1, verdict: { good: true } })
// @ts-expect-error: a field is missing
void run.answer("review", { send: true })
// @ts-expect-error: no such question
void run.answer("revue", { send: true, verdict: { good: true } })
`,
    )
    const tsc = join(import.meta.dirname, "../../node_modules/.bin/tsc")
    const root = join(import.meta.dirname, "../..")
    const options = ["--strict", "--noEmit", "--skipLibCheck", "--module", "nodenext", "--target", "esnext"]
    const lib = [
      "--lib",
      "esnext,dom,dom.iterable",
      "--types",
      "node",
      "--typeRoots",
      join(root, "node_modules/@types"),
    ]
    const args = [...options, ...lib, "--allowImportingTsExtensions", join(folder, "use.ts")]
    const { stdout } = spawnSync(tsc, args, { encoding: "utf8", cwd: folder })
    assert.equal(stdout, "")
  })

  test("a broken workflow is named, and the types of the others are written", async () => {
    const folder = folderWith({ "w/broken.wire": "agent x {", "w/hello.wire": hello })
    const out = join(folder, "wire.d.ts")
    const { code, err } = await runWire(["types", join(folder, "w"), "--out", out])
    assert.equal(code, 1)
    assert.match(err, /broken\.wire/)
    assert.match(err, /Wrote the types of 1 workflow to .*wire\.d\.ts\. Without broken: see above\.\n$/)
    assert.match(readFileSync(out, "utf8"), /"hello": \{ input: HelloInput/)
    assert.equal((await runWire(["types", join(folder, "w"), "--out", out, "--check"])).code, 1)
  })

  test("where every workflow is broken nothing is written", async () => {
    const folder = folderWith({ "w/broken.wire": "agent x {" })
    const { code, err } = await runWire(["types", join(folder, "w"), "--out", join(folder, "wire.d.ts")])
    assert.equal(code, 1)
    assert.match(err, /broken\.wire/)
    assert.ok(!existsSync(join(folder, "wire.d.ts")))
    assert.equal((await runWire(["types", join(folder, "nowhere")])).code, 1)
  })
})

describe("wire init", () => {
  const noShell = process.platform === "win32" && "npm starts no sh"
  test("npm start of the project ends with the signal that ends npm", { skip: noShell }, async (t) => {
    const folder = join(folderWith({}), "new")
    assert.equal((await runWire(["init", folder])).code, 0)
    // The project's command, as an installation links it.
    mkdirSync(join(folder, "node_modules", ".bin"), { recursive: true })
    const link = join(folder, "node_modules", ".bin", "wire")
    writeFileSync(link, `#!/bin/sh\nexec ${process.execPath} ${builtWire} "$@"\n`, { mode: 0o755 })
    const env = { ...process.env, WIRE_PORT: "0", WIRE_STORE: "memory" }
    const npm = spawn("npm", ["start", "--silent"], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] })
    t.after(() => npm.kill("SIGKILL"))
    let output = ""
    const read = (chunk: Buffer): void => void (output += chunk.toString())
    npm.stdout.on("data", read)
    npm.stderr.on("data", read)
    // The pipes close when the last process that has them has ended.
    const closed = once(npm, "close")
    while (!output.includes("service started")) await within(60_000, `a start: ${output}`, once(npm.stderr, "data"))
    npm.kill("SIGTERM")
    await within(60_000, "the end of the service", closed)
    assert.match(output, /"msg":"service stopped"/)
  })

  test("writes workflows that start by themselves, valid, formatted, tested and typed", async () => {
    const folder = join(folderWith({}), "new")
    assert.equal((await runWire(["init", folder, "--schedule", "--webhook"])).code, 0)
    const files = ["workflows/reminder.wire", "workflows/push.wire"]
    const checked = await runWire(["check", "workflows"], { cwd: folder })
    assert.equal(checked.code, 0, checked.out + checked.err)
    assert.equal((await runWire(["fmt", "--check", "workflows"], { cwd: folder })).code, 0)
    const tested = await runWire(["test", ...files.map((file) => file.replace(".wire", ".test.wire"))], { cwd: folder })
    assert.equal(tested.code, 0, tested.out + tested.err)
    const types = ["types", "workflows", "--out", "src/wire.d.ts", "--check"]
    assert.equal((await runWire(types, { cwd: folder })).code, 0)
    const times = await runWire(["schedule", "workflows/reminder.wire"], { cwd: folder })
    assert.match(times.out, /^(?:weekdays {2}\d{4}-\d\d-\d\dT09:00:00\+0[12]:00\n){10}$/)
    const none = await runWire(["schedule", "workflows/push.wire"], { cwd: folder })
    assert.deepEqual([none.code, none.out], [1, ""])
    const args = ["webhook", "send", "workflows/push.wire", "nothing", "--body", "x", "--secret", "hook_secret=env:X"]
    assert.match((await runWire(args, { cwd: folder })).err, /has no webhook nothing: it has pushed\./)
  })

  test("writes a project whose workflow is valid, formatted, tested and typed", async () => {
    const folder = join(folderWith({}), "new")
    const { code, out } = await runWire(["init", folder])
    assert.equal(code, 0)
    assert.match(out, / {2}npm --prefix \S+ run package -- \S+\/new\n {2}npm install\n {2}npm test\n {2}npm start\n$/)
    assert.equal((await runWire(["check", "workflows"], { cwd: folder })).code, 0)
    assert.equal((await runWire(["fmt", "--check", "workflows"], { cwd: folder })).code, 0)
    for (const name of ["triage", "reply"]) {
      const kept = readFileSync(join(folder, `workflows/${name}.reach.json`), "utf8")
      assert.equal((await runWire(["reach", `workflows/${name}.wire`, "--json"], { cwd: folder })).out, kept)
    }
    const tested = await runWire(["test", "workflows"], { cwd: folder })
    assert.equal(tested.code, 0, tested.out + tested.err)
    assert.match(tested.out, /reply\.test\.wire \(1 test\)/)
    const types = ["types", "workflows", "--out", "src/wire.d.ts", "--check"]
    assert.equal((await runWire(types, { cwd: folder })).code, 0)
    // A new recording of the same exchange would be the same file.
    const recording = join(folder, "workflows", "reply.test.recording.json")
    const { exchanges } = JSON.parse(readFileSync(recording, "utf8")) as { exchanges: object }
    assert.equal(Object.keys(exchanges).length, 1)
    // Names that are not ours on npm stand nowhere.
    const { devDependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      devDependencies: Record<string, string>
    }
    assert.match(devDependencies["wireworks"] ?? "", /^file:wireworks-[\d.]+\.tgz$/)
    const actions = readFileSync(join(folder, ".github/workflows/workflows.yml"), "utf8")
    for (const command of ["install", "run check", "test"])
      assert.ok(actions.includes(`run: npm ${command}\n`), command)
    for (const file of [".gitignore", "README.md", ".devcontainer/devcontainer.json"]) {
      assert.ok(readFileSync(join(folder, file), "utf8").length > 0)
    }
    if (!isSoak) return
    // The typed call compiles against the client of this checkout.
    const client = join(import.meta.dirname, "../../src/client/client.ts")
    const call = join(folder, "src", "triage.ts")
    writeFileSync(call, readFileSync(call, "utf8").replace('"wireworks/client"', JSON.stringify(client)))
    const root = join(import.meta.dirname, "../..")
    const tsc = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder, "--resolveJsonModule"], {
      encoding: "utf8",
    })
    assert.equal(tsc.status, 0, tsc.stdout)
  })

  test("overwrites nothing", async () => {
    const folder = folderWith({ "README.md": "mine" })
    const { code, err } = await runWire(["init", folder])
    assert.equal(code, 1)
    assert.match(err, /README\.md exists already: nothing was written/)
    assert.equal(readFileSync(join(folder, "README.md"), "utf8"), "mine")
  })
})
