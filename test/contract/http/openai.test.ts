import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { after, describe, it } from "node:test"
import type { ServerResponse } from "node:http"
import { setTimeout } from "node:timers/promises"
import OpenAI from "openai"
import type { ResponseStreamEvent } from "openai/resources/responses/responses"
import type { JsonObject } from "../../../src/base/json-value.ts"
import { fakeBackend, says, streamOf } from "../../support/fake-backend.ts"
import { responseProblems, streamProblems } from "../../support/open-responses.ts"
import { collect } from "./read-stream.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { startServer } from "../../support/http-server.ts"
import { startService } from "./start-service.ts"

// Workflows with a `chat` block, as OpenAI's own client sees them.

const chatOf = (endpoint: string, more = ""): string => `
input {
    question: string
    history: [{ role: enum { user, assistant }, text: string }]
    system: maybe string
    files: [string]
    tone: maybe string
    ${more}
}
provider llm from openai { endpoint: "${endpoint}" inference { max_retries: 0 output_retries: 1 } }
model m from llm { id: "demo" }
agent answer {
    model: model.m
    instruction: "Echo {{ input.question }}"
    output { text: string }
}
chat { message: input.question history: input.history system: input.system files: input.files reply: output.text }
output { text: agent.answer.text }
`

/** A request of `openai` for Python, as it was recorded. */
interface PythonRequest {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: {
    readonly model: string
    readonly stream?: boolean
    readonly background?: boolean
  } | null
}

/** Says what it was given. */
const echo = `
input {
    question: string
    history: [{ role: enum { user, assistant }, text: string }]
    system: maybe string
    files: [string]
    level: integer
    sure: maybe boolean
}
chat { message: input.question history: input.history system: input.system files: input.files reply: output.text }
output { text: "{{ input }}" }
`

const plain = `
input { question: string }
chat { message: input.question reply: output.text }
output { text: "You said {{ input.question }}" }
`

/** Reads the files that it is given. */
const reader = `
input { question: string  files: [file] }
chat { message: input.question files: input.files reply: output.text }
output {
  text: join(["{{ f.name }} {{ f.media_type }} {{ f.bytes }}" for f in input.files], "; ")
}
`

const asks = `
input { question: string }
ask review { question: "Really {{ input.question }}?" output { yes: boolean } }
chat { message: input.question reply: output.text }
output { text: "Answered: {{ ask.review.yes }}" }
`

const asksTwice = `
input { question: string }
ask first { question: "First?" output { yes: boolean } }
ask second { question: "Second, after {{ ask.first.yes }}?" output { yes: boolean } }
chat { message: input.question reply: output.text }
output { text: "{{ ask.first.yes }} {{ ask.second.yes }}" }
`

const asksMaybe = `
input { question: string }
ask review { question: "A note?" output { note: maybe string } }
chat { message: input.question reply: output.text }
output { text: "Noted: {{ ask.review.note }}" }
`

const asksMuch = `
input { question: string }
ask review { question: "Which?" output { yes: boolean, note: string } }
chat { message: input.question reply: output.text }
output { text: ask.review.note }
`

const waits = `
input { question: string }
wait done { event: "chat.done" output { text: string } }
chat { message: input.question reply: output.text }
output { text: wait.done.text }
`

const noChat = `
input { question: string }
output { text: input.question }
`

describe("workflows as models of OpenAI's APIs", async () => {
  const held: (() => void)[] = []
  const backend = await startServer((_request, response) => {
    held.push(() => response.writeHead(200, { "content-type": "application/json" }).end("{}"))
  })
  const writeEvents = (response: ServerResponse, events: readonly JsonObject[]): void => {
    for (const event of events) response.write(`event: ${event["type"] as string}\ndata: ${JSON.stringify(event)}\n\n`)
  }
  /** Begins well, then does not fit; asked again, it does not answer. */
  const rejecting = await startServer((request, response) => {
    if (request.body.includes("does not fit")) return
    response.writeHead(200, { "content-type": "text/event-stream" })
    writeEvents(response, streamOf(JSON.stringify({ text: "Hello, wor", other: 1 }), 8))
    response.end()
  })
  /** Says the second half when the first has arrived. */
  let finish = (): void => undefined
  const halving = await startServer((request, response) => {
    const events = streamOf(JSON.stringify({ text: "Hello, world" }), 2)
    if (!request.body.includes('"stream":true')) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(events.at(-1)?.["response"]))
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    writeEvents(response, events.slice(0, 3))
    finish = () => {
      finish = () => undefined
      writeEvents(response, events.slice(3))
      response.end()
    }
  })
  const folder = folderOf({
    "support.wire": chatOf("demo"),
    "tickets/echo.wire": echo,
    "plain.wire": plain,
    "reader.wire": reader,
    "asks.wire": asks,
    "asks-much.wire": asksMuch,
    "asks-twice.wire": asksTwice,
    "asks-maybe.wire": asksMaybe,
    "held.wire": chatOf(`${backend.origin}/v1`),
    "rejected.wire": chatOf(`${rejecting.origin}/v1`),
    "halves.wire": chatOf(`${halving.origin}/v1`),
    "asks-halves.wire": chatOf(`${halving.origin}/v1`)
      .replace("agent answer", 'ask go { question: "Go on?" output { on: boolean } }\nagent answer')
      .replace("Echo {{ input.question }}", "Echo {{ input.question }} {{ ask.go.on }}"),
    "waits.wire": waits,
    "no-chat.wire": noChat,
    "broken.wire": "agent {",
  })
  const service = await startService({ WORKFLOWS: folder, API_KEYS: "ann:ann-key,bob:bob-key" })
  const judged: Promise<string[]>[] = []
  /** Every body and every stream of `/responses` is held to the schemas of Open Responses. */
  const judge = (path: string, method: string, response: Response): void => {
    if (!path.startsWith("/v1/responses") || !response.ok || method === "DELETE") return
    const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream")
    const read = response.clone().text()
    // A stream that its reader leaves has no end.
    judged.push(
      read.then(
        (body) => (isStream ? streamProblems(body) : responseProblems(JSON.parse(body))),
        () => [],
      ),
    )
  }
  after(async () => {
    const problems = (await Promise.all(judged)).flat()
    assert.ok(judged.length > 20, String(judged.length))
    assert.deepEqual(problems, [])
  })
  const judging: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    judge(new URL(url instanceof Request ? url.url : url).pathname, init?.method ?? "GET", response)
    return response
  }
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "ann-key", maxRetries: 0, fetch: judging })
  const bob = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "bob-key", maxRetries: 0 })
  const say = (content: string) => ({ role: "user", content }) as const
  const statusOf = async (run_id: string): Promise<unknown> => {
    const response = await service.get(`/execute/${run_id}?wait=30`, { authorization: "Bearer ann-key" })
    return ((await response.json()) as { status: string }).status
  }
  const refusedWith = (status: number, param: string | null, code: string) => (error: unknown) => {
    assert.ok(error instanceof OpenAI.APIError, String(error))
    assert.deepEqual([error.status, error.param, error.code], [status, param, code], error.message)
    return true
  }

  it("are listed, one by one and together", async () => {
    const ids = (await collect(client.models.list())).map(({ id }) => id)
    assert.deepEqual(ids, [
      "asks",
      "asks-halves",
      "asks-maybe",
      "asks-much",
      "asks-twice",
      "halves",
      "held",
      "plain",
      "reader",
      "rejected",
      "support",
      "tickets/echo",
      "waits",
    ])
    assert.equal((await client.models.retrieve("tickets/echo")).id, "tickets/echo")
    await assert.rejects(client.models.retrieve("suport"), refusedWith(404, "model", "model_not_found"))
    await assert.rejects(client.models.retrieve("no-chat"), /has no `chat` block/)
    await assert.rejects(
      new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "x", maxRetries: 0 }).models.list(),
      OpenAI.AuthenticationError,
    )
  })

  it("have errors of that API's shape, also where there is no such route", async () => {
    for (const [method, path, status] of [
      ["GET", "/v1/responses", 405],
      ["GET", "/v1/chat/completions", 405],
      ["PUT", "/v1/responses/resp_x_1", 405],
      ["GET", `/v1/responses/resp_${"x".repeat(3000)}_1`, 404],
      ["GET", "/v1/models/%zz", 400],
      ["GET", "/v1/zzz", 404],
      ["GET", "/v1/responses/resp_x_1/input_items", 404],
    ] as const) {
      const response = await fetch(`${service.url}${path}`, { method, headers: { authorization: "Bearer ann-key" } })
      const { error } = (await response.json()) as { error: JsonObject }
      assert.equal(response.status, status, path)
      assert.deepEqual(
        [error["type"], error["param"], error["code"]],
        ["invalid_request_error", null, error["kind"]],
        path,
      )
    }
  })

  describe("chat completions", () => {
    it("come whole", async () => {
      const { data, response } = await client.chat.completions
        .create({ model: "support", messages: [say("hi")] })
        .withResponse()
      const [choice] = data.choices
      assert.equal(data.object, "chat.completion")
      assert.equal(data.id, `chatcmpl-${response.headers.get("x-service-run-id")}`)
      assert.ok((choice?.message.content ?? "").length > 0)
      assert.deepEqual([choice?.finish_reason, choice?.message.role], ["stop", "assistant"])
      assert.equal(data.usage?.total_tokens, (data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0))
      assert.equal(response.headers.get("x-ignored"), null)
    })

    it("come as a stream, with the helper and with usage", async () => {
      const whole = await client.chat.completions.create({ model: "halves", messages: [say("hi")] })
      const stream = client.chat.completions.stream({
        model: "halves",
        messages: [say("hi")],
        stream_options: { include_usage: true },
      })
      stream.on("content", () => finish())
      const chunks = await collect(stream)
      const final = await stream.finalChatCompletion()
      assert.equal(final.choices[0]?.message.content, whole.choices[0]?.message.content)
      assert.ok(
        chunks.filter(({ choices }) => (choices[0]?.delta.content ?? "") !== "").length > 1,
        "it comes in pieces",
      )
      assert.deepEqual([chunks[0]?.choices[0]?.delta.role, chunks[0]?.usage], ["assistant", null])
      assert.deepEqual([chunks.at(-1)?.choices, chunks.at(-2)?.choices[0]?.finish_reason], [[], "stop"])
      assert.equal(final.usage?.total_tokens, whole.usage?.total_tokens)
      const bare = await collect(
        await client.chat.completions.create({ model: "support", messages: [say("hi")], stream: true }),
      )
      assert.ok(bare.every((chunk) => !("usage" in chunk)))
    })

    it("take system texts, history, files and metadata", async () => {
      const { choices } = await client.chat.completions.create({
        model: "tickets/echo",
        messages: [
          { role: "system", content: "Be kind." },
          { role: "developer", content: [{ type: "text", text: "Be brief." }] },
          say("one"),
          { role: "assistant", content: "two" },
          {
            role: "user",
            content: [
              { type: "text", text: "three" },
              { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
              { type: "file", file: { file_data: "https://example.com/a.pdf" } },
            ],
          },
        ],
        metadata: { level: "3", sure: "true", other: "x" },
      })
      assert.deepEqual(JSON.parse(choices[0]?.message.content ?? ""), {
        question: "three",
        history: [
          { role: "user", text: "one" },
          { role: "assistant", text: "two" },
        ],
        system: "Be kind.\n\nBe brief.",
        files: ["data:image/png;base64,AA", "https://example.com/a.pdf"],
        level: 3,
        sure: true,
      })
    })

    it("take files as files, by their id in this service, by data and with their names", async () => {
      const { id: file_id } = await client.files.create({
        file: await OpenAI.toFile(Buffer.from("Owls hear mice."), "owls.txt", { type: "text/plain" }),
        purpose: "user_data",
      })
      const text = Buffer.from("Mice hear owls.").toString("base64")
      const wave = Buffer.from("RIFF0000WAVE").toString("base64")
      const { choices } = await client.chat.completions.create({
        model: "reader",
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "Read." },
              { type: "file", file: { file_id } },
              { type: "file", file: { filename: "mice.md", file_data: `data:text/plain;base64,${text}` } },
              { type: "input_audio", input_audio: { data: wave, format: "wav" } },
              {
                type: "image_url",
                image_url: { url: `data:image/svg+xml;base64,${Buffer.from("<svg/>").toString("base64")}` },
              },
            ],
          },
        ],
      })
      assert.equal(
        choices[0]?.message.content,
        "owls.txt text/plain 15; mice.md text/plain 15; file audio/wav 12; file image/svg+xml 6",
      )
      const said = await client.responses.create({
        model: "reader",
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: "Read." },
              { type: "input_file", file_id },
              { type: "input_image", file_id, detail: "auto" },
              { type: "input_file", filename: "mice.txt", file_data: `data:;base64,${text}` },
            ],
          },
        ],
      })
      assert.equal(said.output_text, "owls.txt text/plain 15; owls.txt text/plain 15; mice.txt text/plain 15")
      const unknown = client.responses.create({
        model: "reader",
        input: [{ role: "user", content: [{ type: "input_file", file_id: "file-1" }] }],
      })
      await assert.rejects(unknown, refusedWith(422, "input.files[0]", "input_error"))
    })

    it("send, list, get and delete files", async () => {
      const create = async (name: string, contents: string) =>
        client.files.create({ purpose: "assistants", file: await OpenAI.toFile(Buffer.from(contents), name) })
      const [one, two] = [await create("one.bin", "1"), await create("two.bin", "22")]
      assert.deepEqual([two.object, two.bytes, two.filename, two.status], ["file", 2, "two.bin", "processed"])
      assert.match(two.id, /^file_[0-9a-f]{32}$/)
      const listed = await collect(client.files.list({ limit: 1 }))
      assert.deepEqual(
        listed.slice(0, 2).map(({ id }) => id),
        [two.id, one.id],
      )
      assert.equal((await client.files.retrieve(one.id)).filename, "one.bin")
      assert.equal(await (await client.files.content(two.id)).text(), "22")
      const bob = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "bob-key", maxRetries: 0 })
      await assert.rejects(bob.files.retrieve(one.id), OpenAI.NotFoundError)
      await assert.rejects(bob.files.list({ after: one.id }), refusedWith(400, "after", "invalid_request_error"))
      assert.deepEqual(await client.files.delete(one.id), { id: one.id, object: "file", deleted: true })
      await assert.rejects(client.files.content(one.id), OpenAI.NotFoundError)
      const post = (type: string, body: string): Promise<Response> =>
        fetch(`${service.url}/v1/files`, {
          method: "POST",
          headers: { authorization: "Bearer ann-key", "content-type": type },
          body,
        })
      assert.equal((await post("text/plain", "x")).status, 400)
      const part = (name: string, contents: string, more = ""): string =>
        `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${contents}\r\n`
      const form = "multipart/form-data; boundary=b"
      const named = '; filename="a.txt"'
      const whole = await post(form, `${part("purpose", "")}${part("file", "abc", named)}${part("more", "x")}--b--\r\n`)
      const stored = (await whole.json()) as { filename: string; bytes: number }
      assert.deepEqual([whole.status, stored.filename, stored.bytes], [200, "a.txt", 3])
      assert.equal((await post(form, `${part("purpose", "x")}--b--\r\n`)).status, 400)
      assert.equal((await post(form, part("purpose", "x".repeat(20_000)))).status, 400)
      assert.equal(
        (await post(form, `${part("file", "abcd", named)}${part("more", "x".repeat(200_000))}--b--\r\n`)).status,
        400,
      )
    })

    it("name what is ignored", async () => {
      const { response } = await client.chat.completions
        .create({
          model: "plain",
          messages: [{ role: "system", content: "x" }, say("a"), { role: "assistant", content: "b" }, say("c")],
          temperature: 0.5,
          tools: [{ type: "function", function: { name: "f", parameters: {} } }],
          user: "u",
        })
        .withResponse()
      assert.equal(response.headers.get("x-ignored"), "messages,temperature,tools")
    })

    it("run to the end with the tools of a client, which are not called", async () => {
      const runner = client.chat.completions.runTools({
        model: "plain",
        messages: [say("hi")],
        tools: [
          {
            type: "function",
            function: {
              name: "f",
              description: "",
              parameters: {},
              parse: JSON.parse,
              function: () => assert.fail("called"),
            },
          },
        ],
      })
      assert.equal(await runner.finalContent(), "You said hi")
    })

    it("are refused where their form cannot be given", async () => {
      const create = (more: object) =>
        client.chat.completions.create({ model: "plain", messages: [say("hi")], ...more } as never)
      await assert.rejects(create({ n: 2 }), refusedWith(400, "n", "invalid_request_error"))
      await assert.rejects(
        create({ tool_choice: "required" }),
        refusedWith(400, "tool_choice", "invalid_request_error"),
      )
      await assert.rejects(
        create({ response_format: { type: "json_object" } }),
        refusedWith(400, "response_format", "invalid_request_error"),
      )
      await assert.rejects(create({ messages: [] }), refusedWith(400, "messages", "invalid_request_error"))
      await assert.rejects(
        create({ messages: [say("a"), { role: "assistant", content: "b" }] }),
        refusedWith(400, "messages", "invalid_request_error"),
      )
      const image = (url: string) => [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }]
      const place = "messages[0].content[0].image_url"
      await assert.rejects(
        create({ messages: image("http://x/a.png") }),
        refusedWith(400, place, "invalid_request_error"),
      )
      const file = { type: "file", file: { file_id: "file-1" } }
      await assert.rejects(
        create({ model: "tickets/echo", metadata: { level: "1" }, messages: [{ role: "user", content: [file] }] }),
        refusedWith(400, "messages[0].content[0].file.file_id", "invalid_request_error"),
      )
      await assert.rejects(create({ model: "nope" }), refusedWith(404, "model", "model_not_found"))
      const missing = client.chat.completions.create({ model: "tickets/echo", messages: [say("hi")] })
      await assert.rejects(missing, refusedWith(422, "metadata.level", "input_error"))
      const wrong = client.chat.completions.create({
        model: "tickets/echo",
        messages: [say("hi")],
        metadata: { level: "high" },
      })
      await assert.rejects(wrong, refusedWith(422, "metadata.level", "input_error"))
    })

    it("cancel their run when the client leaves, but not one with a key", async () => {
      const leave = async (headers: Record<string, string>): Promise<string> => {
        const { data, response } = await client.chat.completions
          .create({ model: "held", messages: [say("hi")], stream: true }, { headers })
          .withResponse()
        for await (const _ of data) break
        return response.headers.get("x-service-run-id") ?? ""
      }
      assert.equal(await statusOf(await leave({})), "cancelled")
      const kept = await leave({ "Idempotency-Key": "k1" })
      assert.equal(
        (
          (await (await service.get(`/execute/${kept}`, { authorization: "Bearer ann-key" })).json()) as {
            status: string
          }
        ).status,
        "running",
      )
      await service.post(`/execute/${kept}/cancel`, "", { authorization: "Bearer ann-key" })
    })

    it("end with an error where the text that was shown is rejected, and the run is cancelled", async () => {
      const { data, response } = await client.chat.completions
        .create({ model: "rejected", messages: [say("hi")], stream: true })
        .withResponse()
      let text = ""
      await assert.rejects(async () => {
        for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? ""
      }, /rejected/)
      assert.equal(text, "Hello, wor")
      assert.equal(await statusOf(response.headers.get("x-service-run-id") ?? ""), "cancelled")
    })

    it("say what a run asks that waits for people", async () => {
      const { data, response } = await client.chat.completions
        .create({ model: "asks", messages: [say("go")] })
        .withResponse()
      const run_id = response.headers.get("x-service-run-id") ?? ""
      const text = data.choices[0]?.message.content ?? ""
      assert.match(text, /^Really go\?/)
      assert.ok(text.includes(`/execute/${run_id}/questions/`))
      const { question_id } = (data as unknown as { metadata: { question_id: string } }).metadata
      assert.ok(text.includes(question_id))
    })

    it("are not repeated by clients once there is a run", async (t) => {
      let calls = 0
      const { backend: failing } = await fakeBackend(t, () => {
        calls++
        return says("{}", { status: "failed", error: { message: "no" } })
      })
      const own = await startService({ WORKFLOWS: folderOf({ "a.wire": chatOf(failing.endpoint) }) })
      const patient = new OpenAI({ baseURL: `${own.url}/v1`, apiKey: "x", maxRetries: 3 })
      const failed = await patient.chat.completions.create({ model: "a", messages: [say("x")] }).then(
        () => assert.fail("it fails"),
        (error: unknown) => error,
      )
      assert.ok(failed instanceof OpenAI.APIError)
      assert.deepEqual([failed.status, failed.headers?.get("x-should-retry")], [502, "false"])
      const runs = (await (await own.get("/runs")).json()) as { runs: unknown[] }
      assert.equal(runs.runs.length, 1)
      assert.ok(calls > 0)
    })
  })

  describe("responses", () => {
    it("come whole, are stored, and go on by their ids", async () => {
      const first = await client.responses.create({
        model: "tickets/echo",
        input: "one",
        instructions: "Be kind.",
        metadata: { level: "1" },
      })
      assert.equal(first.status, "completed")
      assert.match(first.id, /^resp_.+_1$/)
      const said = JSON.parse(first.output_text) as { question: string; system: string; history: unknown[] }
      assert.deepEqual([said.question, said.system, said.history], ["one", "Be kind.", []])
      assert.deepEqual(await client.responses.retrieve(first.id), first)
      const second = await client.responses.create({
        model: "tickets/echo",
        previous_response_id: first.id,
        input: [{ role: "user", content: [{ type: "input_text", text: "two" }] }],
        metadata: { level: "1" },
      })
      const { history } = JSON.parse(second.output_text) as { history: unknown[] }
      assert.deepEqual(history, [
        { role: "user", text: "one" },
        { role: "assistant", text: first.output_text },
      ])
      assert.equal(second.previous_response_id, first.id)
    })

    it("come as a stream to the letter, with the helper", async () => {
      const stream = client.responses.stream({ model: "halves", input: "hi" })
      stream.on("response.output_text.delta", () => finish())
      const events: ResponseStreamEvent[] = await collect(stream)
      const types = events.map(({ type }) => type)
      assert.deepEqual(
        types.filter((type, at) => type !== types[at - 1]),
        [
          "response.created",
          "response.in_progress",
          "response.output_item.added",
          "response.content_part.added",
          "response.output_text.delta",
          "response.output_text.done",
          "response.content_part.done",
          "response.output_item.done",
          "response.completed",
        ],
      )
      assert.ok(types.filter((type) => type === "response.output_text.delta").length > 1)
      assert.deepEqual(
        events.map(({ sequence_number }) => sequence_number),
        events.map((_, at) => at),
      )
      const final = await stream.finalResponse()
      const whole = await client.responses.create({ model: "halves", input: "hi" })
      assert.equal(final.output_text, whole.output_text)
      assert.equal((await client.responses.retrieve(final.id)).output_text, whole.output_text)
    })

    it("have frames whose event is their type, and end with [DONE]", async () => {
      const response = await service.post(
        "/v1/responses",
        { model: "plain", input: "hi", stream: true },
        { authorization: "Bearer ann-key" },
      )
      const frames = (await response.text()).trimEnd().split("\n\n")
      assert.equal(frames.pop(), "data: [DONE]")
      for (const frame of frames) {
        const [, event = "", data = ""] = /^event: (\S+)\ndata: (.*)$/.exec(frame) ?? []
        assert.equal((JSON.parse(data) as { type: string }).type, event)
      }
      assert.ok(
        frames.some((frame) => frame.includes('"delta":"You said hi"')),
        "it comes whole where it is computed",
      )
    })

    it("and chats take the requests of the Python package", async () => {
      const file = new URL("../../fixtures/openai-python/requests.json", import.meta.url)
      const requests = JSON.parse(readFileSync(file, "utf8")) as PythonRequest[]
      let own = "resp_a_1"
      const seen: string[] = []
      for (const { method, path, headers, body } of requests) {
        const at = path.replace("resp_a_1", own)
        const response = await fetch(service.url + at, {
          method,
          headers,
          ...(body === null ? {} : { body: JSON.stringify(body) }),
        })
        judge(at, method, response)
        const text = await response.text()
        assert.equal(response.status, 200, `${method} ${path} ${text}`)
        const isStream = body?.stream === true
        assert.equal(text.includes("data: [DONE]"), isStream)
        if (isStream) assert.match(text, /"(?:delta|content)":"./)
        if (body?.background === true) own = (JSON.parse(text) as { id: string }).id
        if (body?.model === "tickets/echo") assert.match(text, /\\"level\\":[12]/)
        seen.push(`${method} ${path}${isStream ? " streamed" : ""}`)
      }
      assert.equal(new Set(seen).size, 9, seen.join("\n"))
      assert.notEqual(own, "resp_a_1")
    })

    it("belong to their caller, and can be deleted or not stored", async () => {
      const { id } = await client.responses.create({ model: "plain", input: "x" })
      await assert.rejects(bob.responses.retrieve(id), OpenAI.NotFoundError)
      await assert.rejects(
        bob.responses.create({ model: "plain", input: "y", previous_response_id: id }),
        refusedWith(400, "previous_response_id", "previous_response_not_found"),
      )
      await assert.rejects(
        client.responses.create({ model: "support", input: "y", previous_response_id: id }),
        refusedWith(400, "previous_response_id", "previous_response_not_found"),
      )
      await client.responses.delete(id)
      await assert.rejects(client.responses.retrieve(id), OpenAI.NotFoundError)
      const fleeting = await client.responses.create({ model: "plain", input: "x", store: false })
      await assert.rejects(client.responses.retrieve(fleeting.id), OpenAI.NotFoundError)
      for (const bad of ["resp_x_1", "x", "resp__1", `${id}0`]) {
        await assert.rejects(client.responses.retrieve(bad), OpenAI.NotFoundError)
      }
    })

    it("in the background go on without a client, and can be cancelled again and again", async () => {
      const started = await client.responses.create({ model: "held", input: "x", background: true })
      assert.ok(["queued", "in_progress"].includes(started.status ?? ""))
      const cancelled = await client.responses.cancel(started.id)
      assert.equal(cancelled.status, "cancelled")
      assert.equal((await client.responses.cancel(started.id)).status, "cancelled")
      assert.equal((await client.responses.retrieve(started.id)).status, "cancelled")
      const plainOne = await client.responses.create({ model: "plain", input: "x" })
      await assert.rejects(client.responses.cancel(plainOne.id), refusedWith(400, "id", "invalid_request_error"))
      await assert.rejects(
        client.responses.create({ model: "plain", input: "x", background: true, store: false }),
        refusedWith(400, "background", "invalid_request_error"),
      )
      const done = await client.responses.create({ model: "plain", input: "x", background: true })
      assert.equal(await statusOf(/^resp_(.+)_1$/.exec(done.id)?.[1] ?? ""), "completed")
      assert.equal((await client.responses.retrieve(done.id)).output_text, "You said x")
    })

    it("are refused where their form cannot be given", async () => {
      const create = (more: object) => client.responses.create({ model: "plain", input: "hi", ...more } as never)
      await assert.rejects(create({ conversation: "c" }), refusedWith(400, "conversation", "invalid_request_error"))
      await assert.rejects(create({ prompt: { id: "p" } }), refusedWith(400, "prompt", "invalid_request_error"))
      await assert.rejects(
        create({ text: { format: { type: "json_object" } } }),
        refusedWith(400, "text.format", "invalid_request_error"),
      )
      for (const input of [null, 1, [1]])
        await assert.rejects(create({ input }), /must be a string, or a list of messages/)
      const query = await service.get("/v1/responses/resp_x_1?stream=true", { authorization: "Bearer ann-key" })
      assert.equal(query.status, 400)
      const { response } = await client.responses
        .create({
          model: "plain",
          input: "hi",
          instructions: "x",
          temperature: 1,
          reasoning: { effort: "low" },
          text: { verbosity: "low" },
        })
        .withResponse()
      assert.deepEqual(response.headers.get("x-ignored")?.split(",").toSorted(), [
        "instructions",
        "reasoning",
        "temperature",
        "text",
      ])
    })

    it("answer the question that the run waits for with the next message", async () => {
      const first = await client.responses.create({ model: "asks", input: "go" })
      assert.equal(first.status, "completed")
      assert.match(first.output_text, /Really go\?[^]*next message/)
      assert.ok((first.metadata?.["question_id"] ?? "") !== "")
      await assert.rejects(
        client.responses.create({ model: "asks", input: "perhaps", previous_response_id: first.id }),
        (error: unknown) => {
          assert.ok(error instanceof OpenAI.APIError)
          assert.equal(error.headers?.get("x-should-retry"), "false")
          return refusedWith(400, "input", "invalid_request_error")(error)
        },
      )
      const second = await client.responses.create({ model: "asks", input: "Yes", previous_response_id: first.id })
      assert.equal(second.output_text, "Answered: true")
      assert.equal(second.id, first.id.replace(/_1$/, "_2"))
      assert.equal((await client.responses.retrieve(second.id)).output_text, "Answered: true")
      assert.equal((await client.responses.retrieve(first.id)).output_text.slice(0, 10), "Really go?")
      const streamed = await client.responses.create({ model: "asks", input: "on" })
      const stream = client.responses.stream({ model: "asks", input: "no", previous_response_id: streamed.id })
      assert.equal((await stream.finalResponse()).output_text, "Answered: false")
    })

    it("say what a run waits for, which no message answers", async () => {
      const first = await client.responses.create({ model: "waits", input: "go" })
      assert.equal(first.output_text, "The run waits for the event chat.done (done).")
      assert.deepEqual(first.metadata, {})
      await assert.rejects(
        client.responses.create({ model: "waits", input: "yes", previous_response_id: first.id }),
        (error: unknown) => {
          assert.match(String(error), /chat\.done \(done\)\. No message answers that/)
          return refusedWith(400, "input", "invalid_request_error")(error)
        },
      )
    })

    it("stream what comes after an answer as it is written", async () => {
      for (const isStream of [false, true]) {
        const first = isStream
          ? await client.responses.stream({ model: "asks-halves", input: "x" }).finalResponse()
          : await client.responses.create({ model: "asks-halves", input: "x" })
        assert.match(first.output_text, /^Go on\?/)
        const body = { model: "asks-halves", input: "yes", previous_response_id: first.id, stream: true } as const
        const texts: string[] = []
        // The second half comes when the first has arrived.
        const late = globalThis.setTimeout(() => finish(), 20_000)
        for await (const event of await client.responses.create(body)) {
          if (event.type !== "response.output_text.delta") continue
          texts.push(event.delta)
          finish()
        }
        clearTimeout(late)
        assert.equal(texts.join(""), "Hello, world")
        assert.ok(texts.length > 1, JSON.stringify(texts))
      }
    })

    it("answer a question once, however often the message with its Idempotency-Key is repeated", async () => {
      const send = async (
        body: object,
        key: string,
      ): Promise<{ data: OpenAI.Responses.Response; replayed: boolean }> => {
        const options = { headers: { "Idempotency-Key": key } }
        const { data, response } = await client.responses.create(body as never, options).withResponse()
        return {
          data,
          replayed: response.headers.get("idempotency-replayed") === "true",
        }
      }
      const first = await send({ model: "asks-twice", input: "go" }, "z0")
      assert.match(first.data.output_text, /^First\?/)
      const yes = { model: "asks-twice", input: "yes", previous_response_id: first.data.id }
      const second = await send(yes, "z1")
      assert.deepEqual([second.data.id, second.replayed], [first.data.id.replace(/_1$/, "_2"), false])
      assert.match(second.data.output_text, /^Second, after true\?/)
      const repeated = await send(yes, "z1")
      assert.deepEqual([repeated.data, repeated.replayed], [second.data, true])
      const third = await send({ ...yes, input: "no", previous_response_id: second.data.id }, "z2")
      assert.equal(third.data.output_text, "true false")
      // The run has ended: each turn is what it was.
      for (const [body, key, { data }] of [
        [{ model: "asks-twice", input: "go" }, "z0", first],
        [yes, "z1", second],
        [{ ...yes, input: "no", previous_response_id: second.data.id }, "z2", third],
      ] as const) {
        const again = await send(body, key)
        assert.deepEqual([again.data, again.replayed], [data, true])
        const stream = client.responses.stream(body as never, { headers: { "Idempotency-Key": key } })
        const streamed = await stream.finalResponse()
        assert.deepEqual([streamed.id, streamed.output_text], [data.id, data.output_text])
      }
    })

    it("refuse an answer with an Idempotency-Key that another request has", async () => {
      const headers = { "Idempotency-Key": "taken" }
      const first = await client.responses.create({ model: "asks", input: "go" }, { headers })
      const answer = { model: "asks", input: "yes", previous_response_id: first.id }
      await assert.rejects(client.responses.create(answer, { headers }), refusedWith(409, null, "conflict"))
      const long = { "Idempotency-Key": "k".repeat(256) }
      await assert.rejects(
        client.responses.create(answer, { headers: long }),
        refusedWith(400, null, "invalid_request"),
      )
      assert.equal((await client.responses.create(answer)).output_text, "Answered: true")
    })

    it("take a message as the answer of a field that may be null", async () => {
      const first = await client.responses.create({ model: "asks-maybe", input: "go" })
      assert.match(first.output_text, /next message/)
      const answer = { model: "asks-maybe", input: "all well", previous_response_id: first.id }
      assert.equal((await client.responses.create(answer)).output_text, "Noted: all well")
    })

    it("do not speak of a next message where none can follow", async () => {
      const { output_text } = await client.responses.create({ model: "asks", input: "go", store: false })
      assert.match(output_text, /^Really go\?\n\n\(Answer it at POST \/execute\//)
      const stream = client.responses.stream({ model: "asks", input: "go", store: false })
      assert.doesNotMatch((await stream.finalResponse()).output_text, /next message/)
    })

    it("give the address of a question that a message cannot answer", async () => {
      const first = await client.responses.create({ model: "asks-much", input: "go" })
      const next = client.responses.create({ model: "asks-much", input: "yes", previous_response_id: first.id })
      const id = first.metadata?.["question_id"] ?? ""
      await assert.rejects(next, (error: Error) => error.message.endsWith(`/questions/${id}`))
    })

    it("end with response.failed where the text that was shown is rejected", async () => {
      const events = await collect(await client.responses.create({ model: "rejected", input: "x", stream: true }))
      const last = events.at(-1)
      assert.ok(last?.type === "response.failed")
      assert.equal(last.response.error?.code, "output_error")
    })

    it("are found again by their Idempotency-Key", async () => {
      const twice = async () =>
        client.responses.create({ model: "plain", input: "x" }, { headers: { "Idempotency-Key": "r1" } })
      assert.equal((await twice()).id, (await twice()).id)
      const other = client.responses.create({ model: "plain", input: "y" }, { headers: { "Idempotency-Key": "r1" } })
      await assert.rejects(other, refusedWith(409, null, "conflict"))
    })

    it("with the same Idempotency-Key and another body are refused, and repeated they are what they were", async () => {
      const body = { model: "plain", input: "x" }
      const create = (more: object, key: string) =>
        client.responses.create({ ...body, ...more } as OpenAI.Responses.ResponseCreateParamsNonStreaming, {
          headers: { "Idempotency-Key": key },
        })
      for (const [at, more] of [{ store: false }, { background: true }, { metadata: { a: "2" } }].entries()) {
        const first = await create({ metadata: { a: "1" } }, `other-${at}`)
        await assert.rejects(
          create({ metadata: { a: "1" }, ...more }, `other-${at}`),
          refusedWith(409, null, "conflict"),
        )
        assert.deepEqual(await client.responses.retrieve(first.id), {
          ...first,
          output_text: "You said x",
        })
      }
      const chat = client.chat.completions.create(
        { model: "plain", messages: [say("x")] },
        { headers: { "Idempotency-Key": "other-0" } },
      )
      await assert.rejects(chat, refusedWith(409, null, "conflict"))
      const { id } = await create({ background: true }, "later")
      await statusOf(/^resp_(.+)_1$/.exec(id)?.[1] ?? "")
      // Times are those of the run, in seconds.
      await setTimeout(1_100)
      const { output_text: _, ...again } = await create({ background: true }, "later")
      assert.deepEqual(
        { ...(await client.responses.retrieve(id)), output_text: undefined },
        { ...again, output_text: undefined },
      )
    })

    it("that wait and are cancelled say so", async () => {
      const started = await client.responses.create({ model: "asks", input: "go", background: true })
      const run_id = /^resp_(.+)_1$/.exec(started.id)?.[1] ?? ""
      await statusOf(run_id)
      const asked = await client.responses.retrieve(started.id)
      assert.match(asked.output_text, /Really go/)
      assert.equal((await client.responses.cancel(started.id)).status, "cancelled")
      const found = await client.responses.retrieve(started.id)
      assert.deepEqual([found.status, found.output], ["cancelled", []])
      assert.equal(await statusOf(run_id), "cancelled")
      await assert.rejects(
        client.responses.create({ model: "asks", input: "yes", previous_response_id: started.id }),
        refusedWith(400, "previous_response_id", "previous_response_not_found"),
      )
      await assert.rejects(client.responses.retrieve(`resp_${run_id}_2`), refusedWith(404, null, "not_found"))
    })

    it("have all messages that were sent", async () => {
      const pairs = Array.from({ length: 150 }, (_, at) => [
        say(`q${at}`),
        { role: "assistant", content: `a${at}` } as const,
      ])
      const input = [...pairs.flat(), say("now")]
      const { output_text } = await client.responses.create({ model: "tickets/echo", input, metadata: { level: "1" } })
      assert.equal((JSON.parse(output_text) as { history: unknown[] }).history.length, 300)
    })
  })
})
