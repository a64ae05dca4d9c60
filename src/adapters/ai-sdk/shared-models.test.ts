import assert from "node:assert/strict"
import { it } from "node:test"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import type { Dialect, Fetch } from "./dialect.ts"
import { callWith, sharedModel } from "./shared-models.ts"

it("calls of one shared model, side by side, each use their own fetch", async () => {
  let made = 0
  const dialect = {
    name: "chat",
    model(id: string, fetch: Fetch) {
      made++
      return createOpenAICompatible({ name: "chat", baseURL: "http://unused", fetch }).chatModel(id)
    },
  } as unknown as Dialect
  const all = Promise.withResolvers<void>()
  let waiting = 3
  const say = async (text: string): Promise<unknown> => {
    const own: Fetch = async () => {
      if (--waiting === 0) all.resolve()
      await all.promise
      return Response.json({ choices: [{ message: { content: text }, finish_reason: "stop" }] })
    }
    const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi" }] }]
    return (await callWith(own, () => sharedModel(dialect, "shared-model-test").doGenerate({ prompt }))).content
  }
  const said = await Promise.all(["one", "two", "three"].map(say))
  assert.deepEqual(
    said,
    ["one", "two", "three"].map((text) => [{ type: "text", text }]),
  )
  assert.equal(made, 1)
})
