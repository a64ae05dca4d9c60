import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import assert from "node:assert/strict"
import { after, before, suite, test } from "node:test"
import OpenAI from "openai"
import type { DemoServer } from "../../src/demo/demo-server.ts"
import { startDemoServer } from "../../src/demo/demo-server.ts"

// The vendors' own SDKs, pointed at the demo model: it speaks their APIs properly.

let server: DemoServer
before(async () => {
  server = await startDemoServer({ retry_after_seconds: 0 })
})
after(() => server.close())

const schema = {
  type: "object",
  properties: { message: { type: "string" } },
  required: ["message"],
  additionalProperties: false,
} as const
const parameters = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const

suite("OpenAI's SDK, chat completions", () => {
  const client = (): OpenAI => new OpenAI({ baseURL: server.endpoint, apiKey: "none", maxRetries: 0 })
  const messages = [{ role: "user" as const, content: "Greet Ada." }]

  test("text, whole and streamed, with usage", async () => {
    const whole = await client().chat.completions.create({ model: "demo", messages })
    assert.match(whole.choices[0]?.message.content ?? "", /^Hello, Ada\./)
    assert.equal(whole.choices[0]?.finish_reason, "stop")
    const stream = await client().chat.completions.create({
      model: "demo",
      messages,
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ""
    let total = 0
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ""
      total = chunk.usage?.total_tokens ?? total
    }
    assert.equal(text, whole.choices[0]?.message.content)
    assert.equal(total, whole.usage?.total_tokens)
  })

  test("structured output, a tool loop, an answer that is cut", async () => {
    const structured = await client().chat.completions.create({
      model: "demo",
      messages,
      response_format: { type: "json_schema", json_schema: { name: "reply", schema, strict: true } },
    })
    assert.match((JSON.parse(structured.choices[0]?.message.content ?? "") as { message: string }).message, /Ada/)
    const tools = [{ type: "function" as const, function: { name: "lookup", description: "", parameters } }]
    const first = await client().chat.completions.create({ model: "demo", messages, tools })
    const said = first.choices[0]?.message ?? assert.fail()
    const [call] = said.tool_calls ?? []
    assert.ok(call?.type === "function" && call.function.name === "lookup")
    const second = await client().chat.completions.create({
      model: "demo",
      tools,
      messages: [...messages, said, { role: "tool", tool_call_id: call.id, content: '{"age":36}' }],
    })
    assert.match(second.choices[0]?.message.content ?? "", /Ada/)
    const cut = await client().chat.completions.create({ model: "demo", messages, max_completion_tokens: 2 })
    assert.equal(cut.choices[0]?.finish_reason, "length")
  })

  test("streamed calls of tools", async () => {
    const tools = [{ type: "function" as const, function: { name: "lookup", description: "", parameters } }]
    const runner = client().chat.completions.stream({ model: "demo", messages, tools })
    const [call] = (await runner.finalChatCompletion()).choices[0]?.message.tool_calls ?? []
    assert.ok(call?.type === "function")
    assert.equal((JSON.parse(call.function.arguments) as { name: string }).name, "Ada")
  })

  test("errors are the SDK's own classes", async () => {
    await assert.rejects(client().chat.completions.create({ model: "demo-5", messages }), OpenAI.NotFoundError)
    await assert.rejects(
      client().chat.completions.create({ model: "demo" } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming),
      OpenAI.BadRequestError,
    )
  })
})

suite("Anthropic's SDK", () => {
  const client = (): Anthropic => {
    return new Anthropic({ baseURL: server.endpoint.replace(/\/v1$/, ""), apiKey: "none", maxRetries: 0 })
  }
  const messages = [{ role: "user" as const, content: "Greet Ada." }]

  test("text, whole and streamed, with usage", async () => {
    const whole = await client().messages.create({ model: "demo", max_tokens: 1000, messages, system: "Be kind." })
    const [block] = whole.content
    assert.ok(block?.type === "text" && block.text.startsWith("Hello, Ada."))
    assert.equal(whole.stop_reason, "end_turn")
    const final = await client()
      .messages.stream({ model: "demo", max_tokens: 1000, messages, system: "Be kind." })
      .finalMessage()
    assert.deepEqual(final.content, whole.content)
    assert.equal(final.usage.output_tokens, whole.usage.output_tokens)
  })

  test("a tool loop, a forced tool, an answer that is cut", async () => {
    const tools = [
      { name: "lookup", description: "", input_schema: parameters as unknown as Anthropic.Tool.InputSchema },
    ]
    const first = await client().messages.stream({ model: "demo", max_tokens: 1000, messages, tools }).finalMessage()
    const call = first.content.find(({ type }) => type === "tool_use")
    assert.ok(call?.type === "tool_use")
    assert.deepEqual(call.input, { name: "Ada" })
    assert.equal(first.stop_reason, "tool_use")
    const second = await client().messages.create({
      model: "demo",
      max_tokens: 1000,
      tools,
      messages: [
        ...messages,
        { role: "assistant", content: first.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: '{"age":36}' }] },
      ],
    })
    assert.ok(second.content[0]?.type === "text")
    const forced = await client().messages.create({
      model: "demo",
      max_tokens: 1000,
      messages,
      tools: [{ name: "reply", description: "", input_schema: schema as unknown as Anthropic.Tool.InputSchema }],
      tool_choice: { type: "tool", name: "reply" },
    })
    const [given] = forced.content
    assert.ok(given?.type === "tool_use" && given.name === "reply")
    assert.match((given.input as { message: string }).message, /Ada/)
    const cut = await client().messages.create({ model: "demo", max_tokens: 2, messages })
    assert.equal(cut.stop_reason, "max_tokens")
  })

  test("errors are the SDK's own classes", async () => {
    await assert.rejects(
      client().messages.create({ model: "demo-claude", max_tokens: 10, messages }),
      (error: Error) => error instanceof Anthropic.NotFoundError && /demo model/.test(error.message),
    )
    await assert.rejects(
      client().messages.create({ model: "demo", messages } as unknown as Anthropic.MessageCreateParamsNonStreaming),
      Anthropic.BadRequestError,
    )
  })
})

suite("Google's SDK", () => {
  const client = (): GoogleGenAI => {
    const baseUrl = server.endpoint.replace(/\/v1$/, "")
    return new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl, apiVersion: "v1beta" } })
  }
  const contents = "Greet Ada."

  test("text, whole and streamed, with usage", async () => {
    const whole = await client().models.generateContent({ model: "demo", contents })
    assert.match(whole.text ?? "", /^Hello, Ada\./)
    let text = ""
    let total = 0
    for await (const chunk of await client().models.generateContentStream({ model: "demo", contents })) {
      text += chunk.text ?? ""
      total = chunk.usageMetadata?.totalTokenCount ?? total
    }
    assert.equal(text, whole.text)
    assert.equal(total, whole.usageMetadata?.totalTokenCount)
  })

  test("structured output, a tool loop, an answer that is cut", async () => {
    const structured = await client().models.generateContent({
      model: "demo",
      contents,
      config: { responseMimeType: "application/json", responseJsonSchema: schema, systemInstruction: "Be kind." },
    })
    assert.match((JSON.parse(structured.text ?? "") as { message: string }).message, /Ada/)
    const tools = [{ functionDeclarations: [{ name: "lookup", description: "", parametersJsonSchema: parameters }] }]
    const first = await client().models.generateContent({ model: "demo", contents, config: { tools } })
    const [call] = first.functionCalls ?? []
    assert.deepEqual([call?.name, call?.args], ["lookup", { name: "Ada" }])
    const second = await client().models.generateContent({
      model: "demo",
      contents: [
        { role: "user", parts: [{ text: "Greet Ada." }] },
        first.candidates?.[0]?.content ?? assert.fail(),
        { role: "user", parts: [{ functionResponse: { id: call?.id ?? "", name: "lookup", response: { age: 36 } } }] },
      ],
      config: { tools },
    })
    assert.match(second.text ?? "", /Ada/)
    const cut = await client().models.generateContent({ model: "demo", contents, config: { maxOutputTokens: 2 } })
    assert.equal(cut.candidates?.[0]?.finishReason, "MAX_TOKENS")
  })

  test("errors have Google's shape", async () => {
    await assert.rejects(client().models.generateContent({ model: "demo-gemini", contents }), /404|NOT_FOUND/)
  })
})
