import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { askModel } from "../../../test/support/ask-model.ts"
import { startServer, type Received } from "../../../test/support/http-server.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { userText } from "../../log/messages.ts"
import type { MadeMedia, ModelRequest, ModelWatch } from "../../ports/model.ts"
import { fileType, stringType } from "../../types/primitives.ts"
import type { RecordType } from "../../types/types.ts"

const one: RecordType = {
  kind: "record",
  fields: [
    { name: "about", type: stringType },
    { name: "made", type: fileType },
  ],
}
const many: RecordType = { kind: "record", fields: [{ name: "made", type: { kind: "array", element: fileType } }] }

/** A backend that answers so, one after the other. */
async function backend(
  t: TestContext,
  api: ModelRequest["backend"]["api"],
  ...answers: readonly { readonly type?: string; readonly body: string | Uint8Array }[]
): Promise<{ readonly backend: ModelRequest["backend"]; readonly received: Received[] }> {
  let count = 0
  const server = await startServer((_request, response) => {
    const { type = "application/json", body } = answers[Math.min(count++, answers.length - 1)] ?? { body: "" }
    response.writeHead(200, { "content-type": type })
    response.end(body)
  })
  t.after(() => server.close())
  return { backend: { api, endpoint: `${server.origin}/v1`, api_key: null, headers: {} }, received: server.received }
}

/** Keeps what is made in a list. */
function keeper(): { readonly kept: MadeMedia[]; readonly watch: Partial<ModelWatch> } {
  const kept: MadeMedia[] = []
  const keep = (media: MadeMedia, at: number): Promise<JsonObject> => {
    kept.push(media)
    return Promise.resolve({ file_id: `file_${at}` })
  }
  return { kept, watch: { keep } }
}

const asking = { input: [userText("Paint a boat.")] }
const contractOf = (type: RecordType): ModelRequest["contract"] => ({ name: "draw", type, types: {} })
const png = Buffer.from([0x89, 0x50, 0x4e, 0x47])
const image = (more: JsonObject = {}): JsonObject => ({
  type: "image_generation_call",
  id: "ig_1",
  status: "completed",
  result: png.toString("base64"),
  ...more,
})
const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "A red boat." }] }
const responses = (...output: JsonObject[]): string => JSON.stringify({ status: "completed", output })

test("an image of /responses: the tool is offered, no format is asked for, the text stands beside the file", async (t) => {
  const fake = await backend(t, "responses", { body: responses(image(), said) })
  const { kept, watch } = keeper()
  const turn = await askModel(t).ask(
    { ...asking, backend: fake.backend, contract: contractOf(one), outputs: ["image"], deltas: true },
    watch,
  )
  assert.deepEqual(turn.kind === "output" && turn.output, { made: { file_id: "file_0" }, about: "A red boat." })
  assert.deepEqual(kept, [{ media_type: "image/png", bytes: png }])
  const sent = JSON.parse(fake.received[0]?.body ?? "") as JsonObject
  assert.deepEqual(sent["tools"], [{ type: "image_generation" }])
  assert.deepEqual([sent["text"], sent["stream"]], [undefined, undefined])
  assert.ok(!JSON.stringify(turn.message).includes(png.toString("base64")), "the history has no bytes")
})

test("settings of images are those of the hosted tool, and a list takes all of them", async (t) => {
  const webp = image({ output_format: "webp", id: "ig_2" })
  const fake = await backend(t, "responses", {
    body: responses(image({ status: "failed", result: null }), image(), webp),
  })
  const { kept, watch } = keeper()
  const hosted_tools = [{ type: "image_generation", size: "1024x1024" }]
  const turn = await askModel(t).ask(
    { ...asking, backend: fake.backend, contract: contractOf(many), outputs: ["image"], hosted_tools },
    watch,
  )
  assert.deepEqual(turn.kind === "output" && turn.output, { made: [{ file_id: "file_0" }, { file_id: "file_1" }] })
  assert.deepEqual(
    kept.map(({ media_type }) => media_type),
    ["image/png", "image/webp"],
  )
  assert.deepEqual((JSON.parse(fake.received[0]?.body ?? "") as JsonObject)["tools"], hosted_tools)
})

test("a model that only talks is asked again, and then it is an output_error", async (t) => {
  const fake = await backend(t, "responses", { body: responses(said) }, { body: responses(image()) })
  const { watch } = keeper()
  const request = { ...asking, backend: fake.backend, contract: contractOf(one), outputs: ["image"] } as const
  const turn = await askModel(t).ask(request, watch)
  assert.deepEqual(turn.kind === "output" && turn.output, { made: { file_id: "file_0" }, about: "" })
  assert.match(fake.received[1]?.body ?? "", /expected an image, found none/)
  const never = await backend(t, "responses", { body: responses(said) })
  const failed = await askModel(t).refuse({ ...request, backend: never.backend }, watch)
  assert.equal(failed.error.kind, "output_error")
})

test("Google gives images beside text, and sound as samples, which become a WAV file", async (t) => {
  const google = (...parts: JsonObject[]): string =>
    JSON.stringify({ candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] })
  const inline = (mimeType: string, bytes: Buffer): JsonObject => ({
    inlineData: { mimeType, data: bytes.toString("base64") },
  })
  const thought = { ...inline("image/png", Buffer.from("draft")), thought: true }
  const pictures = await backend(t, "google", { body: google(thought, { text: "A boat." }, inline("image/png", png)) })
  const { kept, watch } = keeper()
  const turn = await askModel(t).ask(
    { ...asking, backend: pictures.backend, contract: contractOf(one), outputs: ["image"] },
    watch,
  )
  assert.deepEqual(turn.kind === "output" && turn.output, { made: { file_id: "file_0" }, about: "A boat." })
  assert.deepEqual(kept, [{ media_type: "image/png", bytes: png }])
  const config = (received: readonly Received[]): unknown =>
    ((JSON.parse(received[0]?.body ?? "") as JsonObject)["generationConfig"] as JsonObject)["responseModalities"]
  assert.deepEqual(config(pictures.received), ["TEXT", "IMAGE"])
  const sound = await backend(t, "google", {
    body: google(inline("audio/L16;codec=pcm;rate=16000", Buffer.from([1, 2, 3, 4]))),
  })
  const heard = keeper()
  await askModel(t).ask(
    { ...asking, backend: sound.backend, contract: contractOf(many), outputs: ["audio"] },
    heard.watch,
  )
  assert.deepEqual(config(sound.received), ["AUDIO"])
  const [wave] = heard.kept
  assert.equal(wave?.media_type, "audio/wav")
  const bytes = Buffer.from(wave?.bytes ?? [])
  assert.equal(bytes.subarray(0, 4).toString() + bytes.subarray(8, 12).toString(), "RIFFWAVE")
  assert.deepEqual([bytes.readUInt32LE(24), bytes.readUInt32LE(40), bytes.length], [16_000, 4, 48])
})

test("speech: the instruction is said by the voice that the workflow sets; an answer without sound is none", async (t) => {
  const mp3 = Buffer.from("ID3 sound")
  const fake = await backend(t, "speech", { type: "audio/mpeg", body: mp3 })
  const { kept, watch } = keeper()
  const request = { ...asking, contract: contractOf(many), outputs: ["audio"], system: "Speak slowly." } as const
  const inference = { extra: { voice: "marin", speed: 1.1, input: "evil" } }
  const turn = await askModel(t).ask({ ...request, backend: fake.backend, inference }, watch)
  assert.deepEqual(turn.kind === "output" && turn.output, { made: [{ file_id: "file_0" }] })
  assert.deepEqual(kept, [{ media_type: "audio/mpeg", bytes: mp3 }])
  const [sent] = fake.received
  assert.equal(sent?.url, "/v1/audio/speech")
  assert.deepEqual(JSON.parse(sent?.body ?? ""), {
    model: "test-model",
    input: "Paint a boat.",
    voice: "marin",
    speed: 1.1,
    instructions: "Speak slowly.",
  })
  const broken = await backend(t, "speech", { body: "{}" })
  const failed = await askModel(t).refuse({ ...request, backend: broken.backend }, watch)
  assert.match(failed.error.message, /answered with no sound/)
  const silent = await askModel(t).refuse({ ...request, backend: fake.backend, input: [userText(" ")] }, watch)
  assert.match(silent.error.message, /no text to be said/)
})
