import assert from "node:assert/strict"
import { after, describe, it } from "node:test"
import { startServer } from "../../support/http-server.ts"
import { errorOf, startService } from "./start-service.ts"

// `call … when condition`, and `concurrency` in a list of calls.

describe("calls with a condition, over HTTP", async () => {
  let open = 0
  let mostOpen = 0
  const api = await startServer((request, response) => {
    mostOpen = Math.max(mostOpen, ++open)
    const id = decodeURIComponent((request.url ?? "").split("/").at(-1) ?? "")
    setTimeout(() => {
      open--
      response.writeHead(id === "bad" ? 404 : 200, { "content-type": "application/json" })
      response.end(JSON.stringify({ id }))
    }, 30)
  })
  after(() => api.close())
  const service = await startService()

  const source = (dynamic: string): string => `
input { ids: [string]  ok: boolean  maybe_id: maybe string  any: object = {} }
api crm { endpoint: "${api.origin}"  max_retries: 0 }
tool find from api.crm."GET /items/{id}" { input { id: string } output { id: string } }
dynamic { x: ${dynamic} }
output { x: dynamic.x }
`

  async function execute(dynamic: string, input: Record<string, unknown>): Promise<Response> {
    api.received.length = 0
    mostOpen = 0
    const body = { workflow_source: source(dynamic), input: { ids: [], ok: false, ...input } }
    return service.post("/execute", body)
  }

  async function outputOf(response: Response): Promise<unknown> {
    assert.equal(response.status, 200, JSON.stringify(await response.clone().json()))
    return ((await response.json()) as { x: unknown }).x
  }

  it("a call whose condition does not hold is null, and is not made", async () => {
    const call = 'call tool.find when input.ok { input { id: input.ids[0] ?? "none" } }'
    assert.equal(await outputOf(await execute(call, { ok: false })), null)
    assert.equal(api.received.length, 0)
    assert.deepEqual(await outputOf(await execute(call, { ok: true, ids: ["a"] })), { id: "a" })
    assert.equal(api.received.length, 1)
  })

  it("what a condition rules out is not null in the call", async () => {
    const call = "call tool.find when input.maybe_id != null { input { id: input.maybe_id } }"
    assert.equal(await outputOf(await execute(call, {})), null)
    assert.deepEqual(await outputOf(await execute(call, { maybe_id: "m" })), { id: "m" })
  })

  it("a condition that is no boolean fails", async () => {
    const response = await execute('call tool.find when input.any.yes { input { id: "a" } }', { any: { yes: "yes" } })
    const { kind, issues } = await errorOf(response)
    assert.equal(kind, "evaluation_error")
    assert.deepEqual(issues, [
      { path: "dynamic.x", message: "Cannot evaluate input.any.yes: a condition is a boolean, found a string" },
    ])
  })

  it("a list makes as many calls at a time as its call says", async () => {
    const list = (more: string): string =>
      `[call tool.find when id != "" { input { id: id } ${more} } for id in input.ids]`
    const ids = ["a", "b", "", "c", "d", "e", "f", "g"]
    const found = ids.map((id) => (id === "" ? null : { id }))
    assert.deepEqual(await outputOf(await execute(list(""), { ids })), found)
    assert.ok(mostOpen > 2, `without it, ${mostOpen} at a time`)
    assert.deepEqual(await outputOf(await execute(list("concurrency: 2"), { ids })), found)
    assert.equal(mostOpen, 2)
  })

  it("a failure in a list names its item", async () => {
    const list = '[call tool.find { input { id: id } } for id in input.ids when id != ""]'
    const { kind, message, issues } = await errorOf(await execute(list, { ids: ["", "a", "bad"] }))
    assert.equal(kind, "tool_error")
    assert.deepEqual(
      issues.map(({ path }) => path),
      ["dynamic.x[1]"],
    )
    assert.match(issues[0]?.message ?? "", /404.*\(item 1\)$/)
    assert.equal(message, issues[0]?.message)
    const nested =
      '[[call tool.find { input { id: id } concurrency: 1 } for id in [other, "a"]] for other in input.ids]'
    const deep = await errorOf(await execute(nested, { ids: ["a", "bad"] }))
    assert.deepEqual(
      deep.issues.map(({ path }) => path),
      ["dynamic.x[1][0]"],
    )
  })

  it("the condition is the loop's own in the list of a loop", async () => {
    const list = '[one for one in [call tool.find when input.ok { input { id: "a" } }] when one != null]'
    assert.deepEqual(await outputOf(await execute(list, { ok: true })), [{ id: "a" }])
    assert.deepEqual(await outputOf(await execute(list, { ok: false })), [])
  })
})
