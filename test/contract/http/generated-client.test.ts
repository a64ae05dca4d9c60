import assert from "node:assert/strict"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import type { components, operations } from "../../fixtures/openapi-client/schema.ts"
import { allEvents } from "./read-stream.ts"
import { startService } from "./start-service.ts"

// The types were generated from /openapi.json of a service with examples/hello.wire as its workflow, and stay as they are: clients
// that users generated earlier must go on to compile and to work. They are a fixture because the generator needs an older
// TypeScript than this project. To renew them, in a folder elsewhere:
//   npx openapi-typescript@7.13.0 http://127.0.0.1:13703/openapi.json -o schema.ts

type Body<O extends keyof operations> = operations[O] extends {
  requestBody: { content: { "application/json": infer Json } }
}
  ? Json
  : never
type Answer<O extends keyof operations> = operations[O] extends {
  responses: { 200: { content: { "application/json": infer Json } } }
}
  ? Json
  : never

const folder = mkdtempSync(join(tmpdir(), "wireworks-generated-"))
after(() => rmSync(folder, { recursive: true, force: true }))
const examples = join(import.meta.dirname, "../../../examples")
cpSync(join(examples, "hello.wire"), join(folder, "hello.wire"))

test("a client of generated types runs workflows, and the examples of the document are taken", async () => {
  const service = await startService({ WORKFLOWS: folder, API_KEYS: "ann:a-key", OPERATOR_KEYS: "ops:o-key" })
  const headers = { authorization: "Bearer a-key" }
  const operator = { authorization: "Bearer o-key" }
  const call = async <O extends keyof operations>(_: O, path: string, body: Body<O>): Promise<Answer<O>> => {
    const response = await service.post(path, body, headers)
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return JSON.parse(text) as Answer<O>
  }

  const hello = await call("execute.hello", "/workflows/hello/execute", { input: { name: "Ada" } })
  assert.ok(hello.greeting.length > 0)
  // @ts-expect-error: the input has no such field
  const wrong: Body<"execute.hello"> = { input: { nam: "Ada" } }
  assert.equal((await service.post("/workflows/hello/execute", wrong, headers)).status, 422)

  const workflow_source = 'input { name: string }\noutput { greeting: "Hello, {{ input.name }}!" }'
  const output = await call("execute", "/execute", { workflow_source, input: { name: "Ada" } })
  assert.equal(output["greeting"], "Hello, Ada!")
  const { valid, issues } = await call("validate", "/validate", { workflow_source })
  assert.deepEqual([valid, issues], [true, []])

  const listed = (await (await service.get("/runs", headers)).json()) as components["schemas"]["Runs"]
  const run = (await (
    await service.get(`/execute/${listed.runs[0]?.run_id}`, headers)
  ).json()) as components["schemas"]["Run"]
  assert.equal(run.status, "completed")
  const stream = await service.get(`/execute/${run.run_id}/events?after=0`, headers)
  const events = (await allEvents(stream)).map(
    ({ id, type, data }) => ({ id, event: type, data }) as unknown as components["schemas"]["Event"],
  )
  const last = events.at(-1)
  assert.ok(last?.event === "workflow_completed")
  assert.ok(last.data.usage.output_tokens >= 0)

  const document = (await (await service.get("/openapi.json", headers)).json()) as {
    paths: Record<string, { post?: { requestBody?: { content: { "application/json"?: { example?: JsonValue } } } } }>
  }
  const given = Object.entries(document.paths).flatMap(([path, { post }]) => {
    const example = post?.requestBody?.content["application/json"]?.example as JsonObject | undefined
    return example === undefined
      ? []
      : [{ path: path.replace("{run_id}", run.run_id).replace("{name}", "hello"), example }]
  })
  assert.ok(given.length >= 6)
  for (const { path, example } of given) {
    // Chats need a workflow of the example's name: openai.test.ts has one.
    if (path.includes("/questions/") || path === "/mcp" || path.startsWith("/v1/")) continue
    const asked = await service.post(path, example, headers)
    const response = asked.status === 403 ? await service.post(path, example, operator) : asked
    // What this workflow does not have (a step to run again, a version, a candidate) is refused, and the shape of the request is not.
    const mayBeGone = /\/(?:rerun|serve|release)$/.test(path) && response.status !== 400
    assert.ok(response.ok || mayBeGone, `${path}: ${await response.text()}`)
  }
})
