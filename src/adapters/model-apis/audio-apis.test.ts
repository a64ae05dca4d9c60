import assert from "node:assert/strict"
import { before, after, test, type TestContext } from "node:test"
import { askModel } from "../../../test/support/ask-model.ts"
import { startServer, type Received } from "../../../test/support/http-server.ts"
import { startDemoServer, type DemoServer } from "../../demo/demo-server.ts"
import type { ModelRequest } from "../../ports/model.ts"
import { userText, type Message } from "../../log/messages.ts"
import type { RecordType } from "../../types/types.ts"
import { stringType } from "../../types/primitives.ts"

let demo: DemoServer
before(async () => {
  demo = await startDemoServer()
})
after(() => demo.close())

const type: RecordType = { kind: "record", fields: [{ name: "words", type: stringType }] }
const contract: ModelRequest["contract"] = { name: "hear", type, types: {} }
const sound = (url: string, name: string | null = null, text = ""): Message => ({
  role: "user",
  parts: [...(text === "" ? [] : [{ type: "text" as const, text }]), { type: "audio", url, name }],
})
const wave = `data:audio/wav;base64,${Buffer.from("RIFF0000WAVE").toString("base64")}`

/** A backend that notes what it gets. */
async function backend(
  t: TestContext,
  answer: { readonly type: string; readonly body: string; readonly status?: number },
): Promise<{ readonly backend: ModelRequest["backend"]; readonly received: Received[] }> {
  const server = await startServer((_request, response) => {
    response.writeHead(answer.status ?? 200, { "content-type": answer.type })
    response.end(answer.body)
  })
  t.after(() => server.close())
  const endpoint = `${server.origin}/v1`
  return {
    backend: { api: "transcription", endpoint, api_key: "test-key", headers: { "x-team": "a" } },
    received: server.received,
  }
}

test("a transcription is a form with the sound, the model, the settings and the text of the instruction", async (t) => {
  const usage = { type: "tokens", input_tokens: 14, output_tokens: 3, total_tokens: 17 }
  const fake = await backend(t, { type: "application/json", body: JSON.stringify({ text: "{ hello }", usage }) })
  const inference = { temperature: 0, extra: { language: "de", prompt: "evil", keywords: ["Ada", "Bo"] } }
  const turn = await askModel(t).ask({
    backend: fake.backend,
    model: "whisper-1",
    input: [sound(wave, "call", "Names: Ada.")],
    contract,
    inference,
  })
  assert.deepEqual(turn.kind === "output" && turn.output, { words: "{ hello }" })
  assert.deepEqual([turn.usage.input_tokens, turn.usage.output_tokens], [14, 3])
  const [request] = fake.received
  assert.ok(request)
  assert.equal(request.url, "/v1/audio/transcriptions")
  assert.equal(request.headers.authorization, "Bearer test-key")
  assert.equal(request.headers["x-team"], "a")
  const headers = { "content-type": request.headers["content-type"] ?? "" }
  const form = await new Response(request.body, { headers }).formData()
  const file = form.get("file")
  assert.ok(file !== null && typeof file !== "string")
  assert.deepEqual([file.name, file.type, await file.text()], ["call.wav", "audio/wav", "RIFF0000WAVE"])
  form.delete("file")
  assert.deepEqual(
    [...form].map(([name, value]) => `${name}: ${typeof value === "string" ? value : "a file"}`).sort(),
    ["keywords[]: Ada", "keywords[]: Bo", "language: de", "model: whisper-1", "prompt: Names: Ada.", "temperature: 0"],
  )
})

test("subtitles come as text, and the sound is no part of the exact request", async (t) => {
  const fake = await backend(t, { type: "text/plain", body: "1\n00:00 --> 00:01\nHi\n" })
  const shown: string[] = []
  const turn = await askModel(t).ask(
    {
      backend: fake.backend,
      step: "agent.hear",
      input: [sound(wave)],
      contract,
      inference: { extra: { response_format: "srt" } },
    },
    { sent: (_id, { body }) => shown.push(body) },
  )
  assert.deepEqual(turn.kind === "output" && turn.output, { words: "1\n00:00 --> 00:01\nHi\n" })
  const file = { name: "audio.wav", media_type: "audio/wav", bytes: 12 }
  assert.deepEqual(JSON.parse(shown[0] ?? ""), { model: "test-model", response_format: "srt", file })
})

test("what cannot be transcribed is refused before anything is sent; errors of the backend are those of a model", async (t) => {
  const fake = await backend(t, { type: "application/json", status: 400, body: '{"error":{"message":"Too short."}}' })
  const request = { backend: fake.backend, contract }
  const model = askModel(t)
  const none = await model.refuse({ ...request, input: [userText("Hello")] })
  assert.match(none.error.message, /one audio asset in the instruction, found none$/)
  const two = await model.refuse({
    ...request,
    input: [{ role: "user", parts: [0, 1].map(() => ({ type: "audio", url: wave, name: null })) }],
  })
  assert.match(two.error.message, /found 2$/)
  const address = await model.refuse({ ...request, input: [sound("https://example.com/a.wav")] })
  assert.match(address.error.message, /takes the sound itself/)
  assert.equal(fake.received.length, 0)
  const failed = await model.refuse({ ...request, input: [sound(wave)] })
  assert.equal(failed.error.kind, "provider_error")
  assert.match(failed.error.message, /answered 400: Too short\./)
})

test("the demo model hears what it has said, and says that it understands no other sound", async (t) => {
  const speech = await fetch(`${demo.endpoint}/audio/speech`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "demo", voice: "alloy", input: "Grüße an Ada." }),
  })
  assert.equal(speech.headers.get("content-type"), "audio/wav")
  const made = Buffer.from(await speech.arrayBuffer())
  assert.equal(made.readUInt32LE(4), made.length - 8)
  const target = { api: "transcription", endpoint: demo.endpoint, api_key: null, headers: {} } as const
  const heard = async (bytes: Buffer): Promise<unknown> => {
    const input = [sound(`data:audio/wav;base64,${bytes.toString("base64")}`)]
    const turn = await askModel(t).ask({ backend: target, model: "demo", input, contract })
    return turn.kind === "output" ? turn.output : turn
  }
  assert.deepEqual(await heard(made), { words: "Grüße an Ada." })
  assert.deepEqual(await heard(Buffer.from("RIFF0000WAVE")), {
    words: "A sound of 12 bytes, which the demo model cannot understand.",
  })
})

for (const [body, message] of [
  [{ model: "demo", voice: "alloy" }, "Missing required parameter: 'input'."],
  [{ model: "demo", input: "x" }, "Missing required parameter: 'voice'."],
  [{ model: "demo-x", input: "x", voice: "a" }, /does not exist here/],
  [{ model: "demo", input: "x".repeat(4097), voice: "a" }, /at most 4096 characters/],
] as const) {
  test(`the demo model refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
    const answer = await fetch(`${demo.endpoint}/audio/speech`, { method: "POST", body: JSON.stringify(body) })
    const { error } = (await answer.json()) as { error: { message: string } }
    assert.ok(answer.status >= 400 && answer.status < 500)
    if (typeof message === "string") assert.equal(error.message, message)
    else assert.match(error.message, message)
  })
}
