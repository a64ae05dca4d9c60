import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { folderWith, runWire } from "./run-wire.ts"
import { soakTest } from "../support/strength.ts"

const workflow = `input { text: string }
secrets { key: string }
provider far from openai { endpoint: "https://models.invalid/v1"  api_key: secrets.key }
model fast from far { id: "fast-1" }
agent triage { model: model.fast  instruction: "Triage: {{ input.text }}"  output { level: enum { low, high }  summary: string } }
agent escalate when agent.triage.level == "high" { model: model.fast  instruction: "Escalate {{ agent.triage.summary }}"  output { note: string } }
output { escalated: agent.escalate != null  triage: agent.triage }
`

const given = `given agent.triage: { level: "high", summary: "Outage" }
    given agent.escalate: { note: "Now" }`

const passing = `test "an outage is escalated" {
    input { text: "down" }
    ${given}
    expect output.escalated && ran agent.escalate && !skipped agent.triage
    expect asked agent.escalate contains "Outage"
    expect calls agent.triage == 0 && usage.input_tokens == 0
}

test "a failure is reported" {
    input { text: "down" }
    given agent.triage fails provider_error "no capacity"
    expect error.kind == "provider_error" && error.message == "no capacity"
    expect !ran agent.escalate
}
`

const failing = `test "it fails" {
    input { text: "down" }
    ${given}
    expect output.escalated == false
    expect output.triage == { level: "high", summary: "Fire" }
    expect asked agent.escalate contains "Fire"
}
`

describe("wire test", () => {
  test(
    "reads no devices and pipes, and no endless files, that a folder from elsewhere links to",
    { timeout: 120_000 },
    async () => {
      const rows = (file: string): string =>
        `test "rows" for row in "${file}" {\n    input { text: row }\n    ${given}\n    expect output.escalated\n}\n`
      const cwd = folderWith({
        "a.wire": workflow,
        "a.test.wire": rows("zero.jsonl"),
        "b.test.wire": `tests "pipe.wire"\n${passing}`,
        "c.wire": workflow,
        "c.test.wire": rows("large.json"),
        "d.wire": workflow,
        "d.test.wire": passing,
      })
      symlinkSync("/dev/zero", join(cwd, "zero.jsonl"))
      spawnSync("mkfifo", [join(cwd, "pipe")])
      symlinkSync("pipe", join(cwd, "pipe.wire"))
      symlinkSync("pipe", join(cwd, "d.test.recording.json"))
      writeFileSync(join(cwd, "large.json"), "[]")
      truncateSync(join(cwd, "large.json"), 5_000_000_000)
      const { code, out, err } = await runWire(["test"], { cwd })
      assert.equal(code, 2, out + err)
      for (const message of [
        /zero\.jsonl: error: is outside of/,
        /large\.json: error: is not a regular file of at most 64 MiB/,
        /The workflow pipe\.wire cannot be read/,
        /d\.test\.recording\.json is not a regular file/,
      ]) {
        assert.match(out + err, message)
      }
      const checked = await runWire(["check", "."], { cwd })
      assert.match(checked.out + checked.err, /Checked 7 files: 1 error/)
      const input = await runWire(["run", "a.wire", "--input", "zero.jsonl"], { cwd })
      assert.match(input.err, /zero\.jsonl is too large: `wire` reads at most 64 MiB of a file/)
      assert.equal(input.code, 2)
    },
  )

  test("runs tests with given results, and needs neither secrets nor a network", async () => {
    const cwd = folderWith({ "a.wire": workflow, "a.test.wire": passing })
    const { code, out } = await runWire(["test"], { cwd })
    assert.match(out, /^✓ a\.test\.wire \(2 tests\)\n2 passed in [\d.]+ s, 0 tokens\.\n$/)
    assert.equal(code, 0)
    assert.equal((await runWire(["test", "a.wire", "-t", "outage"], { cwd })).code, 0)
    assert.equal((await runWire(["check", "."], { cwd })).code, 0)
  })

  test("gives results to called files and to their steps", async () => {
    const cwd = folderWith({
      "triage.wire": `input { text: string }
schema verdict { severity: enum { low, high } }
provider demo from openai { endpoint: "demo" }
model fast from demo { id: "demo" }
agent classify { model: model.fast  instruction: "Classify {{ input.text }}"  output { verdict: schema.verdict } }
ask review when agent.classify.verdict.severity == "high" { question: "Really?"  output { ok: boolean } }
output { severity: agent.classify.verdict.severity  ok: ask.review?.ok ?? true }
`,
      "a.wire": `input { texts: [string] }
workflow triage from "./triage.wire" {}
dynamic { all: [call workflow.triage { input { text: t } } for t in input.texts] }
output { all: dynamic.all }
`,
      "a.test.wire": `test "as a whole" {
  input { texts: ["a", "b"] }
  given workflow.triage: { severity: "high", ok: false }
  expect output.all[1].severity == "high" && calls workflow.triage == 2
  expect !(ran workflow.triage.agent.classify)
}
test "its steps" {
  input { texts: ["a"] }
  given workflow.triage.agent.classify: { verdict: { severity: "high" } }
  given workflow.triage.ask.review: { ok: true }
  expect output.all[0].ok && ran workflow.triage.ask.review
  expect asked workflow.triage.agent.classify contains "Classify a"
}
test "fails" {
  input { texts: ["a"] }
  given workflow.triage fails provider_error "down"
  expect error.kind == "provider_error"
}
`,
    })
    const { code, out, err } = await runWire(["test"], { cwd })
    assert.equal(code, 0, out + err)
    assert.match(out, /3 passed/)
    const wrong = folderWith({
      "a.wire": 'workflow b from "./b.wire" {}\noutput { x: call workflow.b }\n',
      "b.wire":
        'mcp s { endpoint: "demo" }\ntool t from mcp.s.tool.t { input { } output { y: string } }\noutput { y: call tool.t }\n',
      "a.test.wire":
        'test "no" {\n  given workflow.b.tool.t: { y: 1 }\n  given workflow.c: { }\n  expect ran workflow.b.agent.z\n}\n',
    })
    const refused = await runWire(["check", "a.test.wire"], { cwd: wrong })
    assert.match(refused.out + refused.err, /Expected string, found integer/)
    assert.match(refused.out + refused.err, /Unknown reference: workflow\.c/)
    assert.match(refused.out + refused.err, /Unknown reference: workflow\.b\.agent\.z/)
  })

  test("gives results to tools, resources and prompts of called files, by the path of the calls, and opens no server for them", async () => {
    const cwd = folderWith({
      "shop.wire": `input { id: string }
mcp s { endpoint: "http://127.0.0.1:9/mcp" }
api crm { endpoint: "http://127.0.0.1:9" }
tool find from mcp.s.tool.find { input { id: string }  output { name: string } }
tool pay from api.crm."POST /pay" { approval: required  input { name: string }  output { paid: boolean } }
resource terms from mcp.s.resource."file:///terms" {}
prompt tone from mcp.s.prompt.tone {}
provider demo from openai { endpoint: "demo" }
model fast from demo { id: "demo" }
agent write {
  model: model.fast
  uses: [resource.terms, prompt.tone]
  instruction: "Write to {{ dynamic.found.name }}"
  output { text: string }
}
dynamic { found: call tool.find { input { id: input.id } } }
output { name: dynamic.found.name  paid: (call tool.pay { input { name: dynamic.found.name } }).paid  text: agent.write.text }
`,
      "middle.wire": `input { id: string }
workflow shop from "./shop.wire" {}
output { shop: call workflow.shop { input { id: input.id } } }
`,
      "a.wire": `input { id: string }
workflow middle from "./middle.wire" {}
mcp s { endpoint: "http://127.0.0.1:9/mcp" }
tool find from mcp.s.tool.find { input { id: string }  output { name: string } }
output { own: (call tool.find { input { id: input.id } }).name  inner: call workflow.middle { input { id: input.id } } }
`,
      "a.test.wire": `test "all are given" {
  input { id: "7" }
  given tool.find: { name: "outer" }
  given workflow.middle.workflow.shop.tool.find: { name: "Ada" }
  given workflow.middle.workflow.shop.tool.pay: { paid: true }
  given workflow.middle.workflow.shop.resource.terms: "No refunds"
  given workflow.middle.workflow.shop.prompt.tone: "Be kind"
  expect output.own == "outer" && output.inner.shop.name == "Ada" && output.inner.shop.paid
  expect calls workflow.middle.workflow.shop.tool.find == 1 && calls tool.find == 1
  expect ran workflow.middle.workflow.shop.resource.terms
}
test "one fails" {
  input { id: "7" }
  given tool.find: { name: "outer" }
  given workflow.middle.workflow.shop.tool.find fails tool_error "gone"
  given workflow.middle.workflow.shop.agent.write: { text: "-" }
  given workflow.middle.workflow.shop.tool.pay: { paid: true }
  expect error.kind == "tool_error" && error.message contains "gone"
}
test "a tool with an approval waits" {
  input { id: "7" }
  given tool.find: { name: "outer" }
  given workflow.middle.workflow.shop.tool.find: { name: "Ada" }
  given workflow.middle.workflow.shop.agent.write: { text: "-" }
  expect output.own == "outer"
}
`,
    })
    const { out } = await runWire(["test"], { cwd })
    assert.match(out, /2 passed, 1 failed/, out)
    assert.match(out, /Give it a result: given workflow\.middle\.workflow\.shop\.tool\.pay: …/)
    writeFileSync(join(cwd, "shop.wire"), "output { name: input.id }\n")
    const broken = await runWire(["test"], { cwd })
    assert.match(broken.out, /middle\.wire has an error\. shop\.wire has an error/)
    assert.doesNotMatch(broken.out, /Unknown reference: workflow/)
  })

  test("shows a failed expectation about a list, and about the branches of a match", async () => {
    const cwd = folderWith({
      "a.wire": `input { n: integer  v: variant kind { x { a: integer }  y { } } }
output { ns: range(input.n) }
`,
      "a.test.wire": `test "x" {
  input { n: 3  v: { kind: "x", a: 1 } }
  expect all([x > 0 for x in output.ns])
  expect match input.v { x.a  _ 1 } == 5
}
`,
    })
    const { code, out, err } = await runWire(["test"], { cwd })
    assert.equal(code, 1, out + err)
    assert.ok(out.includes("output.ns is [0,1,2]"), out)
    assert.ok(out.includes('input.v is {"kind":"x","a":1}'), out)
    assert.doesNotMatch(out, / x(\.a)? is/)
  })

  test("shows the values of a failed expectation, a difference, and what an agent was asked", async () => {
    const cwd = folderWith({ "a.wire": workflow, "a.test.wire": failing })
    const { code, out } = await runWire(["test"], { cwd })
    assert.equal(code, 1)
    for (const line of [
      "expect output.escalated == false  a.test.wire:5",
      "  output.escalated is true",
      '  -   "summary": "Fire"',
      '  +   "summary": "Outage"',
      "  asked agent.escalate:",
      "    | Escalate Outage",
      "0 passed, 1 failed",
    ]) {
      assert.ok(out.includes(line), `${line}\n${out}`)
    }
  })

  test("fails a test whose exchange is not recorded, whatever the test expects", async () => {
    const text = 'test "t" { input { text: "x" }  expect error.kind == "provider_error" }'
    const cwd = folderWith({ "a.wire": workflow, "a.test.wire": text })
    const { code, out } = await runWire(["test"], { cwd })
    assert.equal(code, 1)
    assert.match(out, /agent\.triage asks what is not recorded/)
  })

  test("asks the demo model, which needs no recording", async () => {
    const demo = workflow.replace('"https://models.invalid/v1"', '"demo"').replace("fast-1", "demo")
    const text = 'test "t" { input { text: "x" }  expect calls agent.triage == 1 && usage.output_tokens > 0 }'
    const { code, out } = await runWire(["test"], { cwd: folderWith({ "a.wire": demo, "a.test.wire": text }) })
    assert.equal(code, 0, out)
  })

  test("a title that nothing has, and a row that does not fit, are said once", async () => {
    const rows = 'test "t" for row in "./rows.jsonl" { input { text: row.text }  expect output.escalated }'
    const cwd = folderWith({ "a.wire": workflow, "a.test.wire": rows, "rows.jsonl": '{ "text": 5 }' })
    const missed = await runWire(["test", "-t", "nothing"], { cwd })
    assert.equal(missed.code, 2, missed.out)
    assert.match(missed.out, /No test has "nothing" in its title\.\n\n0 passed in /)
    const misfit = await runWire(["test"], { cwd })
    assert.equal(misfit.code, 1, misfit.out)
    assert.match(misfit.out, /^ *input\.text: expected string, found number 5$/m)
  })

  soakTest("a broken file, missing data, and a title that nothing has, are exit code 2", async () => {
    const rows = 'test "t" for row in "./rows.jsonl" { input { text: row.text }  expect output.escalated }'
    const cwd = folderWith({
      "a.wire": workflow,
      "a.test.wire": passing,
      "broken/a.wire": workflow,
      "broken/a.test.wire": 'test "t" { expect ran agent.nobody }',
      "data/a.wire": workflow,
      "data/a.test.wire": rows,
      "lost/b.test.wire": passing,
    })
    for (const [args, said] of [
      [["a.test.wire", "-t", "nothing"], 'No test has "nothing" in its title'],
      [["broken"], "Unknown reference: agent.nobody"],
      [["data"], "rows.jsonl"],
      [["lost"], "The workflow ./b.wire cannot be read"],
      [["nowhere"], "nowhere: no such file or folder"],
      [["a.test.wire", "--reporter", "loud"], "it must be pretty, json or junit"],
      [["a.test.wire", "--model", "fast=x"], "--model needs --record or --live"],
    ] as const) {
      const { code, out, err } = await runWire(["test", ...args], { cwd })
      assert.equal(code, 2, `${args.join(" ")}: ${out}${err}`)
      assert.ok(`${out}${err}`.includes(said), `${out}${err}`)
    }
  })
})
