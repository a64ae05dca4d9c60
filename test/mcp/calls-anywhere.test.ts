import assert from "node:assert/strict"
import { test } from "node:test"
import { startService } from "../contract/http/start-service.ts"
import { startEverything } from "../support/everything-server.ts"

test("call, read and render stand wherever a value of the run may; a key that is null is not sent", async () => {
  const service = await startService()
  const everything = await startEverything("streamableHttp")
  const source = `
secrets { key: maybe string }
mcp s { endpoint: "${everything.url}" headers { X-Key: secrets.key } }
tool echo from mcp.s.tool.echo
prompt weather from mcp.s.prompt.args-prompt
resource page from mcp.s.resource."demo://resource/dynamic/text/{resourceId}"
provider p from openai { endpoint: "demo" api_key: secrets.key }
model m from p { id: "demo" }
agent a for item in [call tool.echo { input { message: "one" } }, "two"] {
    model: model.m
    instruction: render prompt.weather { bindings { city: item } }
    uses: [tool.echo { bindings { message: call tool.echo { input { message: item } } } }]
    file { name: "page.txt" content: read resource.page { bindings { resourceId: "1" } } }
    output { text: string }
}
output {
    count: agent.a.*.text
    nested: call tool.echo { input { message: call tool.echo { input { message: "in" } } } }
    text: "{{ call tool.echo { input { message: "x" } } }}!"
}
`
  try {
    const answer = await service.post("/execute", { workflow_source: source, secrets: { key: null } })
    const body = (await answer.json()) as Record<string, unknown>
    assert.equal(answer.status, 200, JSON.stringify(body))
    assert.equal(body["nested"], "Echo: Echo: in")
    assert.equal(body["text"], "Echo: x!")
    assert.ok(Array.isArray(body["count"]) && body["count"].length === 2)

    // What a server refuses to read is told with the step that asked for it.
    const head = source.slice(0, source.indexOf("agent a")).replace("tool echo from mcp.s.tool.echo\n", "")
    const step = `agent g {
    model: model.m
    instruction: "{{ [read resource.page { bindings { resourceId: x } } for x in ["bad"]] }}{{ render prompt.weather { bindings { city: "a" } } }}"
    output { text: string }
}`
    const workflow_source = `${head}${step}\noutput { text: agent.g.text }`
    const refused = await service.post("/execute", { workflow_source, secrets: { key: null } })
    const { error } = (await refused.json()) as { error: { kind: string; issues: { path: string }[] } }
    assert.deepEqual([error.kind, error.issues[0]?.path], ["tool_error", "agent.g"], JSON.stringify(error))
  } finally {
    await everything.stop()
  }
})
