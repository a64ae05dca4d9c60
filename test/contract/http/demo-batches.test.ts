import Anthropic from "@anthropic-ai/sdk"
import assert from "node:assert/strict"
import { describe, it } from "node:test"
import OpenAI, { toFile } from "openai"
import { createDemoModel } from "../../../src/demo/handle-demo.ts"
import { startService } from "./start-service.ts"

const lines = (count: number): string =>
  Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      custom_id: `r-${n}`,
      method: "POST",
      url: "/v1/responses",
      body: { model: "demo", input: `Greet guest ${n}.` },
    }),
  ).join("\n")

describe("the batches of the demo model at the service's own address, by the vendors' SDKs", async () => {
  const keys = { ann: "key-of-ann-0123456789", bob: "key-of-bob-0123456789" }
  const service = await startService({
    API_KEYS: Object.entries(keys)
      .map((pair) => pair.join(":"))
      .join(","),
    DEMO_BATCH_SECONDS: "0",
  })
  const openai = (name: keyof typeof keys): OpenAI =>
    new OpenAI({ baseURL: `${service.url}/demo/v1`, apiKey: keys[name], maxRetries: 0 })

  it("are those of OpenAI, and each caller sees its own", async () => {
    const client = openai("ann")
    const file = await client.files.create({ file: await toFile(Buffer.from(lines(7)), "b.jsonl"), purpose: "batch" })
    const made = await client.batches.create({
      input_file_id: file.id,
      endpoint: "/v1/responses",
      completion_window: "24h",
      metadata: { mine: "yes" },
    })
    const batch = await client.batches.retrieve(made.id)
    assert.deepEqual([batch.status, batch.metadata, batch.request_counts?.completed], ["completed", { mine: "yes" }, 7])
    const text = await (await client.files.content(batch.output_file_id ?? "")).text()
    assert.equal(text.trim().split("\n").length, 7)
    assert.match(text, /"custom_id":"r-6","response":{"status_code":200,.*"output_text"/)
    assert.equal((await client.batches.list()).data.length, 1)

    const other = openai("bob")
    assert.equal((await other.batches.list()).data.length, 0)
    for (const asked of [
      () => other.batches.retrieve(made.id),
      () => other.files.content(file.id),
      () => other.files.delete(file.id),
      () => other.batches.cancel(made.id),
    ]) {
      await assert.rejects(asked, (error: unknown) => error instanceof OpenAI.APIError && error.status === 404)
    }
    await assert.rejects(
      other.batches.create({ input_file_id: file.id, endpoint: "/v1/responses", completion_window: "24h" }),
      /does not exist/,
    )
    await client.files.delete(file.id)
    await assert.rejects(client.files.content(file.id), /404/)
    const stranger = new OpenAI({ baseURL: `${service.url}/demo/v1`, apiKey: "wrong-key-0123456789", maxRetries: 0 })
    await assert.rejects(stranger.batches.list(), /401/)
  })

  it("are those of Anthropic", async () => {
    const client = new Anthropic({
      baseURL: `${service.url}/demo`,
      authToken: keys.ann,
      apiKey: null,
      maxRetries: 0,
    })
    const params = { model: "demo", max_tokens: 99, messages: [{ role: "user" as const, content: "Greet Ada." }] }
    const made = await client.messages.batches.create({ requests: [{ custom_id: "a", params }] })
    const batch = await client.messages.batches.retrieve(made.id)
    assert.equal(batch.processing_status, "ended")
    // The SDK follows `results_url`, which names no host here.
    const answer = await service.get(`/demo/v1/messages/batches/${made.id}/results`, {
      authorization: `Bearer ${keys.ann}`,
    })
    assert.match(await answer.text(), /^{"custom_id":"a","result":{"type":"succeeded",.*Hello, Ada/)
    await client.messages.batches.delete(made.id)
    await assert.rejects(client.messages.batches.retrieve(made.id), /404/)
  })
})

it("the demo model forgets its oldest files and batches where they take too much", async () => {
  const demo = createDemoModel({ batchBytes: 10_000 })
  const query = new URLSearchParams()
  const send = async (bytes: number): Promise<{ readonly id?: string }> => {
    const body = `--x\r\ncontent-disposition: form-data; name="file"; filename="b"\r\n\r\n${"x".repeat(bytes)}\r\n--x--\r\n`
    const { body: text } = await demo.batch({ method: "POST", path: "/files", query, body })
    return JSON.parse(typeof text === "string" ? text : "") as { id?: string }
  }
  const get = async (id = ""): Promise<number> =>
    (await demo.batch({ method: "GET", path: `/files/${id}`, query, body: "" })).status
  const files = [await send(4_000), await send(4_000), await send(4_000)]
  assert.deepEqual(await Promise.all(files.map(({ id }) => get(id))), [404, 200, 200])
  assert.deepEqual(await send(6_000), {
    error: { message: "The body is too large.", type: "invalid_request_error", param: null, code: null },
  })
})
