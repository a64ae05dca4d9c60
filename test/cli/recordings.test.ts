import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import type { DemoServer } from "../../src/demo/demo-server.ts"
import { startDemoServer } from "../../src/demo/demo-server.ts"
import { startServer } from "../support/http-server.ts"
import { atStrength, soakTest } from "../support/strength.ts"
import { folderWith, runWire } from "./run-wire.ts"

const canary = "canary-4f9a17c2e0b84d61"

/** A workflow that asks a model by an address, and a library over MCP: nothing of it is the demo for `wire`. */
function workflow(kind: string, endpoint: string, library: string): string {
  return `input { text: string }
secrets { key: string }
provider p from ${kind} { endpoint: "${endpoint}"  api_key: secrets.key  headers { "x-canary": secrets.key } }
model m from p { id: "demo" }
mcp lib { endpoint: "${library}"  headers { authorization: secrets.key } }
tool find from mcp.lib.tool.find-books { output { books: [{ title: string  author: string  year: integer  shelf: string }] } }
tool reserve from mcp.lib.tool.reserve { bindings { reader: secrets.key } }
resource shelf from mcp.lib.resource.shelf
prompt recommend from mcp.lib.prompt.recommend
dynamic {
    books: call tool.find { input { query: input.text } }
    reserved: call tool.reserve { input { title: "The Owl Papers" } }
    shelf: read resource.shelf { bindings { name: "T1" } }
    question: render prompt.recommend { bindings { reader: input.text } }
}
agent pick { model: model.m  uses: [tool.find]  instruction: "{{ dynamic.question }} Of {{ dynamic.books.books.*.title }}, {{ dynamic.shelf }}, {{ dynamic.reserved }}"  output { title: string } }
agent say { model: model.m  instruction: "Say {{ agent.pick.title }}"  output { words: string } }
output { count: dynamic.books.books  title: agent.pick.title  words: agent.say.words }
`
}

const tests = `test "it answers" {
    input { text: "owl" }
    expect output.title != "" && calls agent.pick >= 1 && usage.output_tokens > 0
}
`

describe("recordings", () => {
  let demo: DemoServer
  before(async () => {
    demo = await startDemoServer()
  })
  after(() => demo.close())

  const secret = { env: { KEY: canary } }

  const kinds = [
    ["openai", "/v1"],
    ["openai_chat", "/v1"],
    ["anthropic", "/v1"],
    ["google", "/v1beta"],
  ] as const
  for (const [kind, path] of kinds.slice(0, atStrength(1, kinds.length))) {
    test(`of ${kind} and of MCP: the same twice, without secrets and addresses, played without a connection`, async () => {
      const endpoint = demo.endpoint.replace(/\/v1$/, path)
      const source = workflow(kind, endpoint, demo.library)
      const folders = [0, 1].map(() => folderWith({ "a.wire": source, "a.test.wire": tests }))
      const texts: string[] = []
      for (const cwd of folders) {
        const recorded = await runWire(["test", "--record", "--secret", "key=env:KEY"], { cwd, ...secret })
        assert.equal(recorded.code, 0, recorded.out + recorded.err)
        texts.push(readFileSync(join(cwd, "a.test.recording.json"), "utf8"))
      }
      const [text = "", again = ""] = texts
      assert.equal(text, again)
      assert.ok(!text.includes(canary))
      assert.ok(!text.includes(String(demo.port)), "no address")
      for (const asked of ["model", "mcp call", "mcp read", "mcp render", "mcp definition"]) {
        assert.ok(text.includes(`"kind": "${asked}"`), asked)
      }
      const [cwd = ""] = folders
      writeFileSync(join(cwd, "a.wire"), source.replaceAll(/http:\/\/127[^"]*/g, "https://nowhere.invalid/v1"))
      const played = await runWire(["test"], { cwd })
      assert.equal(played.code, 0, played.out + played.err)
      // Recorded again, nothing changes: all is there, and all is used.
      assert.equal((await runWire(["test", "--record", "--secret", "key=env:KEY"], { cwd, ...secret })).code, 0)
      assert.equal(readFileSync(join(cwd, "a.test.recording.json"), "utf8"), text)
    })
  }

  const simple = (): string => `input { text: string }
secrets { key: string }
provider p from openai { endpoint: "${demo.endpoint}"  api_key: secrets.key }
model m from p { id: "demo" }
agent a { model: model.m  instruction: "First {{ input.text }}"  output { x: string } }
agent b { model: model.m  instruction: "Second {{ agent.a.x }}"  output { y: string } }
output { x: agent.a.x  y: agent.b.y }
`

  test("a run that fails shows the hint of its error", async (t) => {
    const backend = await startServer((_, response) => response.writeHead(401).end("{}"))
    t.after(() => backend.close())
    const cwd = folderWith({
      "a.wire": simple().replace(demo.endpoint, backend.origin),
      "a.test.wire": 'test "t" { input { text: "owl" } }',
    })
    const { code, out } = await runWire(["test", "--live", "--secret", "key=env:KEY"], { cwd, ...secret })
    assert.equal(code, 1)
    assert.match(
      out,
      /answered 401: .*does not accept secrets\.key\n +(?:\S* *)?= Check that secrets\.key is a key for /,
    )
  })

  test("a miss shows the nearest request and the difference; --record adds it and drops what is not used", async () => {
    const text = 'test "t" { input { text: "owl" }  expect output.x != "" }'
    const cwd = folderWith({ "a.wire": simple(), "a.test.wire": text })
    const file = join(cwd, "a.test.recording.json")
    assert.equal((await runWire(["test", "--record", "--secret", "key=env:KEY"], { cwd, ...secret })).code, 0)
    const first = JSON.parse(readFileSync(file, "utf8")) as { exchanges: object }
    assert.equal(Object.keys(first.exchanges).length, 2)
    writeFileSync(join(cwd, "a.wire"), simple().replace("Second", "Then"))
    const missed = await runWire(["test"], { cwd })
    assert.equal(missed.code, 1)
    assert.match(missed.out, /agent\.b asks what is not recorded/)
    assert.match(missed.out, /- +"text": "Second /)
    assert.match(missed.out, /\+ +"text": "Then /)
    assert.equal((await runWire(["test", "--record", "--secret", "key=env:KEY"], { cwd, ...secret })).code, 0)
    const second = readFileSync(file, "utf8")
    assert.equal(Object.keys((JSON.parse(second) as { exchanges: object }).exchanges).length, 2)
    assert.ok(second.includes("Then ") && !second.includes("Second "))
    // With -t nothing is dropped: other tests may use it.
    writeFileSync(join(cwd, "a.wire"), simple())
    assert.equal(
      (await runWire(["test", "--record", "-t", "t", "--secret", "key=env:KEY"], { cwd, ...secret })).code,
      0,
    )
    assert.ok(readFileSync(file, "utf8").includes("Then "))
  })

  soakTest("rows, samples and a pass rate", async () => {
    const text = `test "rows" for row in "./rows.jsonl" {
    input { text: row.text }
    expect output.x != row.not
    samples: 2
    pass_rate: 0.5
}
test "array" for row in "./rows.json" { input { text: row.text }  expect output.x == "never" }
`
    const cwd = folderWith({
      "a.wire": simple(),
      "a.test.wire": text,
      "rows.jsonl": '{"text":"owl","not":""}\n\n{"text":5,"not":""}\n',
      "rows.json": '[\n  {"text": "a"},\n  {"text": "b"}\n]\n',
    })
    const args = ["test", "--record", "--secret", "key=env:KEY", "--reporter", "json"]
    const { code, out } = await runWire(args, { cwd, ...secret })
    assert.equal(code, 1, out)
    const report = JSON.parse(out) as {
      passed: number
      failed: number
      tests: {
        name: string
        row: { line: number }
        passed: boolean
        samples: number
        failures: { message: string }[]
      }[]
    }
    assert.deepEqual(
      report.tests.map(({ name, row, passed, samples }) => [name, row.line, passed, samples]),
      [
        ["rows", 1, true, 2],
        ["rows", 3, false, 2],
        ["array", 2, false, 1],
        ["array", 3, false, 1],
      ],
    )
    assert.equal(report.tests[1]?.failures[0]?.message, "The input does not fit the workflow (rows.jsonl:3)")
    const junit = await runWire(["test", "--reporter", "junit"], { cwd })
    assert.equal(junit.code, 1)
    assert.match(junit.out, /^<\?xml .*\n<testsuites name="wire test" tests="4" failures="3" errors="0"/)
    assert.match(junit.out, /<testcase classname="a\.test\.wire" name="rows \(rows\.jsonl:1\)"/)
    assert.match(junit.out, /<failure message="expect output\.x == &quot;never&quot;">/)
  })

  soakTest("models are compared in a table, and --live leaves no recording", async () => {
    const text = 'test "t" { input { text: "owl" }  expect output.x != "" }'
    const cwd = folderWith({ "a.wire": simple(), "a.test.wire": text })
    const args = ["test", "--live", "--secret", "key=env:KEY", "--model", "m=demo", "--model", "m=demo-slow"]
    const { code, out, err } = await runWire(args, { cwd, ...secret })
    assert.equal(code, 0, out + err)
    assert.match(out, /m=demo {2}m=demo-slow\nt +100 % +100 %\n/)
    for (const row of ["pass rate", "tokens", "cost", "median time"]) assert.ok(out.includes(row), out)
    assert.equal(existsSync(join(cwd, "a.test.recording.json")), false)
    assert.equal(
      (await runWire(["test", "--live", "--model", "x=y", "--secret", "key=env:KEY"], { cwd, ...secret })).code,
      2,
    )
  })

  soakTest("without a value for a secret nothing is called; a file has values too", async () => {
    const text = 'test "t" { input { text: "owl" }  expect output.x != "" }'
    // The other file is not asked for: -t leaves it out.
    const other = simple().replace("{ key", "{ other").replace("secrets.key", "secrets.other")
    const files = {
      "a.wire": simple(),
      "a.test.wire": text,
      "b.wire": other,
      "b.test.wire": text.replace('"t"', '"u"'),
    }
    const cwd = folderWith({ ...files, "secrets.json": JSON.stringify({ key: canary, unrelated: 1 }) })
    for (const mode of ["--record", "--live"]) {
      const refused = await runWire(["test", mode, "-t", "t"], { cwd })
      assert.deepEqual([refused.code, refused.out], [2, ""])
      assert.match(refused.err, /^a\.test\.wire: secrets\.key is missing.* Give it with --secret key=env:VARIABLE/)
      const empty = await runWire(["test", mode, "-t", "t", "--secrets-file", "none.json"], { cwd })
      assert.match(empty.err, /^none\.json /)
    }
    assert.equal(existsSync(join(cwd, "a.test.recording.json")), false)
    const recorded = await runWire(["test", "--record", "-t", "t", "--secrets-file", "secrets.json"], { cwd })
    assert.equal(recorded.code, 0, recorded.out + recorded.err)
    assert.doesNotMatch(readFileSync(join(cwd, "a.test.recording.json"), "utf8"), new RegExp(canary))
  })

  soakTest("a judge says why", async () => {
    const text = `provider j from openai { endpoint: "${demo.endpoint}" }
model judge from j { id: "demo" }
test "t" { input { text: "owl" }  given agent.a: { x: "X" }  given agent.b: { y: "Y" }  expect judge model.judge "Is polite: {{ output.y }}" }
`
    const cwd = folderWith({ "a.wire": simple(), "a.test.wire": text })
    const recorded = await runWire(["test", "--record", "--reporter", "json", "--secret", "key=env:KEY"], {
      cwd,
      ...secret,
    })
    const played = await runWire(["test", "--reporter", "json"], { cwd })
    assert.equal(played.code, recorded.code)
    const {
      tests: [one],
    } = JSON.parse(played.out) as { tests: { passed: boolean; failures: { details: string[] }[] }[] }
    if (one?.passed === false) assert.match(one.failures[0]?.details[0] ?? "", /^The judge says: \S/)
    assert.match(readFileSync(join(cwd, "a.test.recording.json"), "utf8"), /Is polite: Y/)
  })

  test("wire run records and replays one run", async () => {
    const cwd = folderWith({ "a.wire": simple() })
    const args = ["run", "a.wire", "--set", "text=owl", "-q"]
    const recorded = await runWire([...args, "--secret", "key=env:KEY", "--record", "r.json"], { cwd, ...secret })
    assert.equal(recorded.code, 0, recorded.err)
    assert.ok(!readFileSync(join(cwd, "r.json"), "utf8").includes(canary))
    writeFileSync(join(cwd, "a.wire"), simple().replaceAll(/http:\/\/127[^"]*/g, "https://nowhere.invalid/v1"))
    const played = await runWire([...args, "--replay", "r.json"], { cwd })
    assert.equal(played.code, 0, played.err)
    assert.equal(played.out, recorded.out)
    const missed = await runWire(["run", "a.wire", "--set", "text=cat", "-q", "--replay", "r.json"], { cwd })
    assert.equal(missed.code, 1)
    assert.match(missed.err, /agent\.a asks what is not recorded in r\.json/)
    assert.match(missed.err, /\+ +"text": "First cat"/)
    assert.equal((await runWire([...args, "--replay", "no.json"], { cwd })).code, 2)
  })

  test("what a model makes is recorded with its contents, and played into new files; large ones stand beside the recording", async () => {
    const source = (model: string): string => `provider p from openai { endpoint: "${demo.endpoint}"  api_key: "k" }
model painter from p { id: "demo"  outputs: ["image"] }
model says from p { id: "demo"  wire_api: "speech"  inference { extra { voice: "alloy" } } }
agent draw { model: model.painter  instruction: "An owl"  output { picture: file  caption: string } }
agent speak { model: model.says  instruction: "${model}"  output { speech: file } }
output { picture: agent.draw.picture  caption: agent.draw.caption  speech: agent.speak.speech }
`
    const long = "The owl sat in the old oak and looked at the moon. ".repeat(20)
    const file = `test "it makes files" {
    expect output.picture.name == "draw.png" && output.picture.bytes > 100
    expect output.speech.name == "speak.mp3" || output.speech.name == "speak.wav"
}
`
    const cwd = folderWith({ "make.wire": source(long), "make.test.wire": file })
    const recorded = await runWire(["test", "--record"], { cwd })
    assert.equal(recorded.code, 0, recorded.out + recorded.err)
    const text = readFileSync(join(cwd, "make.test.recording.json"), "utf8")
    assert.doesNotMatch(text, /file_[0-9a-f]{32}/)
    const beside = join(cwd, "make.test.recording.files")
    const [large = "", ...more] = readdirSync(beside)
    assert.deepEqual(more, [])
    assert.ok(statSync(join(beside, large)).size > 64 * 1024)
    assert.ok(text.includes(large) && text.length < 64 * 1024)
    const played = await runWire(["test"], { cwd })
    assert.equal(played.code, 0, played.out + played.err)
    const again = await runWire(["test", "--record"], { cwd })
    assert.equal(again.code, 0)
    assert.equal(readFileSync(join(cwd, "make.test.recording.json"), "utf8"), text)

    const run = await runWire(["run", "make.wire", "--record", "run.json"], { cwd })
    const replayed = await runWire(["run", "make.wire", "--replay", "run.json"], { cwd })
    const shown = ({ out }: { out: string }): string[] =>
      [...out.matchAll(/"sha256": "(\w+)"/g)].map(([, hash = ""]) => hash)
    assert.equal(shown(run).length, 2)
    assert.deepEqual(shown(replayed), shown(run))

    writeFileSync(join(beside, large), "changed")
    const refused = await runWire(["test"], { cwd })
    assert.equal(refused.code, 2)
    assert.match(refused.out + refused.err, /was changed: record anew/)
    writeFileSync(join(cwd, "make.wire"), source("Hi"))
    assert.equal((await runWire(["test", "--record"], { cwd })).code, 2, "a broken recording is not written over")
    rmSync(join(cwd, "make.test.recording.json"))
    const short = await runWire(["test", "--record"], { cwd })
    assert.equal(short.code, 0, short.out + short.err)
    assert.equal(existsSync(beside), false, "what no recording names goes")
  })
})
