import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { startService } from "../contract/http/start-service.ts"
import { startServer } from "../support/http-server.ts"
import { folderWith, runWire } from "./run-wire.ts"

const workflow = `input { ids: [string] }
secrets { key: string }
api crm { endpoint: "https://crm.invalid" }
tool company from api.crm."GET /companies/{id}" { input { id: string }  output { name: string } }
tool tags from api.crm."GET /tags/{id}" { input { id: string } }
tool send from api.crm."POST /mail" { input { to: string  body: object  cc: maybe string } }
provider p from openai { endpoint: "demo"  api_key: secrets.key }
model m from p { id: "demo" }
dynamic {
    companies: [call tool.company { input { id: id } } for id in input.ids]
    tags: [call tool.tags { input { id: id } } for id in input.ids]
    mails: [call tool.send when c.name != "B" { input { to: "{{ c.name }}@b.c"  body: { a: 1 } } } for c in dynamic.companies]
}
agent each for c in dynamic.companies { model: model.m  on_failure: skip  instruction: "x {{ c.name }}"  output { word: string } }
output { companies: dynamic.companies  tags: dynamic.tags  mails: dynamic.mails  words: agent.each }
`

const given = `input { ids: ["a", "b", "c"] }
    given tool.company: [{ name: "A" }, { name: "B" }, { name: "C" }]
    given tool.tags: [["t"], [], ["u"]]
    given tool.send: [{ ok: 1 }, { ok: 2 }]
    given agent.each: [{ word: "a" }, fail "boom", { word: "c" }]`

const fails = (name: string, lines: string): string => `test "${name}" {\n    ${given}\n    ${lines}\n}\n`

describe("what a test says of calls", () => {
  test("called, not called, with and calls_of, and one result for each call", async () => {
    const tests = `test "calls" {
    ${given}
    expect output.companies == [{ name: "A" }, { name: "B" }, { name: "C" }]
    expect called tool.send with { to: "A@b.c", body: { a: 1 } } && called tool.send
    expect called tool.send with { to: "C@b.c", cc: null }
    expect not called tool.send with { to: "B@b.c" }
    expect not called tool.send with { to: "A@b.c", body: { a: 2 } }
    expect calls tool.send == 2
    expect calls_of tool.send.*.to == ["A@b.c", "C@b.c"]
    expect length(calls_of tool.company) == 3 && calls_of tool.company[1].id == "b"
    expect output.words == [{ word: "a" }, null, { word: "c" }]
    // No call is made for the second item, and none of the results is its.
    expect output.mails == [{ ok: 1 }, null, { ok: 2 }]
    // The result is a list itself.
    expect output.tags == [["t"], [], ["u"]]
}
test "one call fails" {
    ${given.replace('{ name: "B" }', 'fail "HTTP {{ 400 + 4 }}"')}
    expect error.kind == "tool_error" && error.message contains "HTTP 404"
    expect calls_of tool.company == [{ id: "a" }, { id: "b" }, { id: "c" }]
}
`
    const cwd = folderWith({ "a.wire": workflow, "a.test.wire": tests })
    const { code, out, err } = await runWire(["test"], { cwd })
    assert.match(out, /2 passed/, out + err)
    assert.equal(code, 0)
  })

  test("too few results, and expectations that fail, say which calls there were", async () => {
    const tests =
      fails("few", "expect true").replace(', { name: "B" }, { name: "C" }', "") +
      fails("few of agents", "expect true").replace(', fail "boom", { word: "c" }', "") +
      fails("called", 'expect called tool.send with { to: "D@b.c" }') +
      fails("not called", "expect not called tool.send")
    const cwd = folderWith({ "a.wire": workflow, "a.test.wire": tests })
    const { code, out } = await runWire(["test"], { cwd })
    assert.equal(code, 1)
    for (const said of [
      "tool.company is given 1 result, and is called at least 3 times",
      "Give it one for each call: given tool.company: [ …, … ]",
      "agent.each is given 1 result, and is called at least 3 times",
      '    expect called tool.send with { to: "D@b.c" }',
      'tool.send was called 2 times, with\n        {"to":"A@b.c","body":{"a":1}}\n        {"to":"C@b.c","body":{"a":1}}',
      "    expect not called tool.send",
    ]) {
      assert.ok(out.includes(said), `${said}\n${out}`)
    }
  })

  test("results go by items, whatever order the calls come in", async () => {
    const slow = await startServer((request, response) => {
      const body = JSON.stringify({ wait: 1 })
      const answer = (): void => void response.writeHead(200, { "content-type": "application/json" }).end(body)
      // The first item has its answer last.
      if (request.url === "/first/a") first.push(answer)
      else {
        answer()
        last = true
      }
      if (last) for (const one of first.splice(0)) one()
    })
    const first: (() => void)[] = []
    let last = false
    try {
      const source = `input { ids: [string] }
api one { endpoint: "${slow.origin}" }
tool first from api.one."GET /first/{id}" { input { id: string }  output { wait: integer } }
tool second from api.one."GET /second/{id}" { input { id: string  wait: integer }  output { n: integer } }
output { all: [call tool.second { input { id: id  wait: (call tool.first { input { id: id } }).wait } } for id in input.ids] }
`
      const tests = `test "order" {
    input { ids: ["a", "b"] }
    given tool.second: [{ n: 1 }, { n: 2 }]
    expect output.all == [{ n: 1 }, { n: 2 }]
    expect calls_of tool.second.*.id == ["a", "b"]
}
`
      const cwd = folderWith({ "a.wire": source, "a.test.wire": tests })
      const { code, out, err } = await runWire(["test", "--live"], { cwd })
      assert.equal(code, 0, out + err)
    } finally {
      await slow.close()
    }
  })

  test("wire test add gives each call its result", async () => {
    const server = await startServer((request, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify([request.url?.slice(1)])),
    )
    const service = await startService()
    try {
      const source = `input { ids: [string] }
api crm { endpoint: "${server.origin}" }
tool find from api.crm."GET /{id}" { input { id: string } }
output { all: [call tool.find { input { id: id } } for id in input.ids]  one: call tool.find { input { id: "z" } } }
`
      const response = await service.post("/execute", { workflow_source: source, input: { ids: ["a", "b"] } })
      await response.arrayBuffer()
      const run_id = response.headers.get("x-service-run-id") ?? ""
      await server.close()
      const cwd = folderWith({ "a.wire": source })
      const env = { WIRE_URL: service.url }
      assert.equal((await runWire(["test", "add", run_id, "a.wire"], { cwd, env })).code, 0)
      const text = readFileSync(join(cwd, "a.test.wire"), "utf8")
      assert.ok(text.includes('given tool.find: [["a"], ["b"], ["z"]]'), text)
      const { code, out, err } = await runWire(["test"], { cwd })
      assert.equal(code, 0, text + out + err)
    } finally {
      await service.stop()
    }
  })
})
