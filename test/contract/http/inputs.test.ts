import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { describe, it } from "node:test"
import type { JsonObject } from "../../../src/base/json-value.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { errorOf, startService } from "./start-service.ts"

const secret = "hook-0123456789abcdef"

// What may be left out of an input, its defaults, and what an input must fulfil.

const source = `schema options {
    limit: integer = 2 * 5
    note: maybe string
}

input {
    from: string
    to: string
    tone: string = upper("formal")
    tags: [string] = ["a"]
    options: schema.options
    who: maybe { name: string, age: maybe integer }
    require input.from != input.to else "{{ input.from }} is both."
    require length(input.tone) > 2
}

output {
    tone: input.tone
    tags: input.tags
    limit: input.options.limit
    note: input.options.note
    age: input.who?.age
    sent: input.to
}
`

describe("an input that leaves fields out", async () => {
  const called = `workflow inner from "./inner.wire"
input { to: string }
output { inner: call workflow.inner { input { from: "a", to: input.to, options: { } } } }
`
  const folder = folderOf({
    "inner.wire": `${source}secrets { hook_secret: string }
webhook pushed {
    verify: github
    secret: secrets.hook_secret
    input { from: body.from, to: body.to, options: { } }
}
`,
    "outer.wire": called.replace("./inner.wire", "./plain.wire"),
    "plain.wire": source,
  })
  const service = await startService({ WORKFLOWS: folder, SECRET_HOOK_SECRET: secret })
  const execute = (input: JsonObject, path = "/execute"): Promise<Response> =>
    service.post(path, path === "/execute" ? { workflow_source: source, input } : { input })
  const left = { from: "a", to: "b", options: {}, who: { name: "n" } }
  const result = { tone: "FORMAL", tags: ["a"], limit: 10, note: null, age: null, sent: "b" }

  it("has defaults, or null, at every level; the record of the run shows the input that counted", async () => {
    const answer = await execute(left)
    assert.deepEqual(await answer.json(), result)
    const started = await service.post(
      "/execute",
      { workflow_source: source, input: left },
      { prefer: "respond-async" },
    )
    const { run_id } = (await started.json()) as { run_id: string }
    const stored = (await (await service.get(`/execute/${run_id}/request`)).json()) as { input: unknown }
    assert.deepEqual(stored.input, {
      from: "a",
      to: "b",
      options: { limit: 10, note: null },
      who: { name: "n", age: null },
      tone: "FORMAL",
      tags: ["a"],
    })
  })

  it("null is not left out, and what is needed is still missing", async () => {
    const wrong = await errorOf(await execute({ ...left, tone: null }))
    assert.deepEqual([wrong.status, wrong.kind, wrong.issues[0]?.path], [422, "input_error", "input.tone"])
    const missing = await errorOf(await execute({ from: "a", options: {} }))
    assert.deepEqual([missing.status, missing.issues.map(({ path }) => path)], [422, ["input.to"]])
  })

  it("must fulfil each requirement, after types and defaults", async () => {
    const { status, kind, issues } = await errorOf(await execute({ ...left, to: "a", tone: "x" }))
    assert.deepEqual([status, kind], [422, "input_error"])
    assert.deepEqual(issues, [
      { path: "input.require[0]", message: "a is both." },
      { path: "input.require[1]", message: "Required: length(input.tone) > 2" },
    ])
    const typesFirst = await errorOf(await execute({ ...left, to: 1, tone: "x" }))
    assert.deepEqual(
      typesFirst.issues.map(({ path }) => path),
      ["input.to"],
    )
  })

  it("/validate has the schema with defaults, and judges an input that is sent along", async () => {
    const answer = await service.post("/validate", { workflow_source: source, input: { ...left, to: "a" } })
    const { valid, issues } = (await answer.json()) as { valid: boolean; issues: readonly { path: string }[] }
    assert.deepEqual([valid, issues.map(({ path }) => path)], [false, ["input.require[0]"]])
    const right = await service.post("/validate", { workflow_source: source })
    const { schemas } = (await right.json()) as { schemas: { input: JsonObject } }
    assert.deepEqual(schemas.input["required"], ["from", "to", "options"])
    const { tone } = schemas.input["properties"] as { tone: JsonObject }
    assert.deepEqual(tone, { type: "string", default: "FORMAL" })
  })

  it("starts a run by a webhook, or is refused with 422", async () => {
    const deliver = (body: string): Promise<Response> =>
      service.post("/hooks/inner/pushed", body, {
        "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
      })
    assert.equal((await deliver('{"from":"a","to":"b"}')).status, 202)
    const { status, kind, issues } = await errorOf(await deliver('{"from":"a","to":"a"}'))
    assert.deepEqual([status, kind, issues[0]?.path], [422, "input_error", "input.require[0]"])
  })

  it("is given by a calling file; a requirement that does not hold fails the call", async () => {
    const answer = await execute({ to: "b" }, "/workflows/outer/execute")
    assert.deepEqual(await answer.json(), { inner: result })
    const failed = await errorOf(await execute({ to: "a" }, "/workflows/outer/execute"))
    assert.match(failed.message, /a is both\./)
  })
})
