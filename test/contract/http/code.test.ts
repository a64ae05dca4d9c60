import assert from "node:assert/strict"
import { mkdir, mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, it } from "node:test"
import { errorOf, startService, type TestService } from "./start-service.ts"

const source = `
schema row { id: string, score: number }
function rank(rows: [schema.row], weight: number): [schema.row] from "./rank.js"
input { rows: [schema.row] }
output { best: rank(input.rows, 2), each: [rank([row], 1).*.score for row in input.rows] }
`
const code = `
import { weigh } from "./lib/weigh.ts"
let calls = 0
export function rank(rows, weight) {
  console.log("call", ++calls, rows.length)
  return rows.map((row) => ({ ...row, score: weigh(row.score, weight) })).sort((a, b) => b.score - a.score)
}
`
const weigh = "export function weigh(score: number, weight: number): number { return score * weight }\n"
const rows = [
  { id: "a", score: 1 },
  { id: "b", score: 3 },
]
const modules = { "rank.js": code, "lib/weigh.ts": weigh }
const expected = {
  best: [
    { id: "b", score: 6 },
    { id: "a", score: 2 },
  ],
  each: [[1], [3]],
}

async function served(files: Record<string, string>, more: Record<string, string> = {}): Promise<TestService> {
  const folder = await mkdtemp(join(tmpdir(), "code-"))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, ".."), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return startService({ WORKFLOWS: folder, ...more })
}

async function resultOf(response: Response): Promise<unknown> {
  return response.json()
}

describe("code", () => {
  it("runs in named workflows, and is refused in source that is sent", async () => {
    const service = await served({ "ranking.wire": source, ...modules })
    const named = await service.post("/workflows/ranking/execute", { input: { rows } })
    assert.equal(named.status, 200)
    assert.deepEqual(await resultOf(named), expected)
    const run_id = named.headers.get("x-service-run-id") ?? ""
    const record = (
      await (await service.get(`/execute/${run_id}/events`, { accept: "text/event-stream" })).text()
    ).split("\n")
    const completed = record.find((line) => line.startsWith("data:") && line.includes('"logs"')) ?? ""
    // The items of a list share a context, and are computed in order; fields of the output do not.
    assert.match(completed, /call 1 2\\ncall 1 1\\ncall 2 1\\n/)
    const sent = { workflow_source: source, modules, input: { rows } }
    for (const path of ["/execute", "/validate"]) {
      const refused = await service.post(path, sent)
      const text = await refused.text()
      assert.match(text, /code-not-allowed/, path)
      if (path === "/execute") assert.equal(refused.status, 422)
    }
    const again = await service.post(`/execute/${run_id}/rerun`, { workflow_source: source })
    assert.equal((await errorOf(again)).issues[0]?.code, "code-not-allowed")
    const same = await service.post(`/execute/${run_id}/rerun`, {})
    assert.deepEqual(await resultOf(same), expected)
  })

  it("is reported at the import that brings it", async () => {
    const service = await startService()
    const library = 'function rank(a: string): string from "./rank.js"\n'
    const main = 'import { function.rank } from "./lib.wire"\noutput { a: rank("x") }\n'
    const response = await service.post("/execute", {
      workflow_source: main,
      modules: { "lib.wire": library, "rank.js": "export const rank = (a) => a" },
    })
    const [issue] = (await errorOf(response)).issues
    assert.equal(issue?.code, "code-not-allowed")
    assert.equal(issue?.path, "import ./lib.wire")
  })

  it("may be sent where the operator allows it, and not more than 256 KiB", async () => {
    const service = await startService({ CODE: "all" })
    const sent = { workflow_source: source, modules, input: { rows } }
    const response = await service.post("/execute", sent)
    assert.deepEqual(await resultOf(response), expected)
    const large = { ...modules, "large.js": `// ${"x".repeat(262_144)}` }
    const refused = await service.post("/execute", { ...sent, modules: large })
    assert.equal(refused.status, 413)
    assert.equal((await errorOf(refused)).kind, "payload_too_large")
  })

  it("is checked in the sandbox, with the place in the code file", async () => {
    const service = await startService({ CODE: "all" })
    const issuesOf = async (text: string, other: Record<string, string> = {}): Promise<Record<string, unknown>[]> => {
      const response = await service.post("/validate", {
        workflow_source: source,
        modules: { "rank.js": text, ...other },
      })
      const { issues } = (await response.json()) as { issues: Record<string, unknown>[] }
      return issues.map(({ code, file, range, message, hint }) => ({
        code,
        file,
        line: (range as { start: { line: number } }).start.line,
        message,
        hint,
      }))
    }
    const [wrong] = await issuesOf("export function rank() {\n  return 1 +\n}\n")
    assert.equal(wrong?.["code"], "invalid-code")
    assert.equal(wrong?.["file"], "rank.js")
    assert.equal(wrong?.["line"], 3)
    const [missing] = await issuesOf('\nimport "./gone.js"\nexport const rank = () => []')
    assert.deepEqual([missing?.["code"], missing?.["file"]], ["unknown-file", "rank.js"])
    const [other] = await issuesOf("export const rnak = () => []")
    assert.equal(other?.["code"], "unknown-export")
    assert.match(String(other?.["hint"]), /rnak/)
    assert.equal((await issuesOf("export const rank = 1"))[0]?.["code"], "unknown-export")
    assert.equal((await issuesOf("export async function rank() {}"))[0]?.["code"], "invalid-code")
    assert.equal((await issuesOf("export function* rank() {}"))[0]?.["code"], "invalid-code")
    assert.equal(
      (await issuesOf('import fs from "node:fs"\nexport const rank = () => []'))[0]?.["code"],
      "invalid-code",
    )
    assert.equal((await issuesOf("throw new Error('no')"))[0]?.["code"], "invalid-code")
    assert.deepEqual(await issuesOf(code, { "lib/weigh.ts": weigh }), [])
  })

  it("fails with what is wrong: results that do not fit, exceptions, limits", async () => {
    const service = await startService({ CODE: "all", CODE_MS: "300" })
    const failed = async (text: string): Promise<{ kind: string; message: string }> => {
      const response = await service.post("/execute", {
        workflow_source: source,
        modules: { "rank.js": text },
        input: { rows },
      })
      return errorOf(response)
    }
    const surplus = await failed("export const rank = (rows) => rows.map((row) => ({ ...row, more: 1 }))")
    assert.equal(surplus.kind, "evaluation_error")
    assert.match(surplus.message, /more/)
    const thrown = await failed("export function rank(rows) {\n  throw new Error(`bad ${rows.length}`)\n}")
    assert.equal(thrown.kind, "evaluation_error")
    assert.match(thrown.message, /bad 2 \(rank\.js:2\)/)
    assert.match((await failed("export const rank = () => Promise.resolve([])")).message, /promise/)
    const endless = await failed("export const rank = () => { for (;;); }")
    assert.deepEqual([endless.kind, /`rank`.*WIRE_CODE_MS/.test(endless.message)], ["limit_exceeded", true])
    const large = await failed("export const rank = () => { const a = []; for (;;) a.push(new Array(100000).fill(7)) }")
    assert.equal(large.kind, "limit_exceeded")
  })

  it("makes a step anew whose function changed, and no other", async () => {
    const service = await startService({ CODE: "all" })
    const text = `
function one(): integer from "./one.js"
function two(): integer from "./two.js"
provider demo from openai { endpoint: "demo" }
model m from demo { id: "demo" }
agent a { model: model.m instruction: "Say {{ one() }}." output { text: string } }
agent b { model: model.m instruction: "Say {{ two() }}." output { text: string } }
output { a: agent.a.text, b: agent.b.text }
`
    const files = {
      "one.js": 'import { n } from "./n.js"\nexport const one = () => n\n',
      "n.js": "export const n = 1\n",
      "two.js": "export const two = () => 2\n",
    }
    const first = await service.post("/execute", { workflow_source: text, modules: files })
    assert.equal(first.status, 200)
    const run_id = first.headers.get("x-service-run-id") ?? ""
    const changed = { ...files, "n.js": "export const n = 3\n" }
    const compared = await service.post("/validate", {
      workflow_source: text,
      modules: changed,
      compare_with: { workflow_source: text, modules: files },
      rerun_of: run_id,
    })
    const { diff, plan } = (await compared.json()) as {
      diff: { steps: { changed: { step: string }[] } }
      plan: { nodes: { id: string; rerun?: unknown }[] }
    }
    assert.deepEqual(
      diff.steps.changed.map(({ step }) => step),
      ["agent.a"],
    )
    assert.equal(new Set(plan.nodes.map(({ rerun }) => JSON.stringify(rerun))).size > 1, true)
    const again = await service.post(`/execute/${run_id}/rerun`, { modules: changed }, { accept: "text/event-stream" })
    const events = await again.text()
    assert.match(events, /"step":"agent\.b"/)
    assert.doesNotMatch(events, /"step":"agent\.a"/)
  })

  it("is read again when it changes", async () => {
    const folder = await mkdtemp(join(tmpdir(), "code-"))
    const text = 'function one(): integer from "./one.js"\noutput { n: one() }\n'
    await writeFile(join(folder, "one.wire"), text)
    await writeFile(join(folder, "one.js"), "export const one = () => 1\n")
    const service = await startService({ WORKFLOWS: folder })
    const run = async (): Promise<unknown> => resultOf(await service.post("/workflows/one/execute", {}))
    assert.deepEqual(await run(), { n: 1 })
    await writeFile(join(folder, "one.js"), "export const one = () => 2\n")
    const deadline = Date.now() + 30_000
    let found: unknown
    do found = await run()
    while (JSON.stringify(found) !== '{"n":2}' && Date.now() < deadline)
    assert.deepEqual(found, { n: 2 })
  })
})
