import { jsonOf } from "../base/bounded-json.ts"
import { waveFile } from "../base/wave-file.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { DemoReply } from "./demo-reply.ts"
import { errorReply } from "./handle-demo.ts"
import { missing, refuse, unknownModel, wrong, type ApiError } from "./read-question.ts"
import { demoSamples, samplesPerSecond } from "./demo-samples.ts"

// The demo model's speech: a tone for each word, with the words in a comment of the sound, so that its transcription hears what was said.

const speechPath = "/demo/v1/audio/speech"
const transcriptionPath = "/demo/v1/audio/transcriptions"

export function isDemoAudio(path: string): boolean {
  return path === speechPath || path === transcriptionPath
}

export interface DemoAudioReply extends Omit<DemoReply, "body"> {
  readonly body: string | Uint8Array
}

export async function answerDemoAudio(
  path: string,
  contentType: string,
  body: Buffer,
): Promise<DemoReply | DemoAudioReply> {
  const made = path === speechPath ? speak(body) : await transcribe(contentType, body)
  return "error" in made ? errorReply(made.error) : made
}

type Made = DemoAudioReply | { readonly error: ApiError }

/** Most characters that the vendor takes. */
const longest = 4096

function speak(body: Buffer): Made {
  const asked = jsonOf(body.toString("utf8"))
  if (!isJsonObject(asked)) return refuse("The body of the request is not a JSON object.", null, "invalid_json")
  const { model, input, voice } = asked
  const unknown = unknownModel(model)
  if (unknown !== null) return unknown
  if (typeof input !== "string" || input === "") return missing("input")
  if (input.length > longest) return wrong("input", `at most ${longest} characters`)
  const isVoice = typeof voice === "string" || (isJsonObject(voice) && typeof voice["id"] === "string")
  if (!isVoice) return missing("voice")
  return {
    status: 200,
    headers: { "content-type": "audio/wav" },
    body: waveFile(demoSamples(input), samplesPerSecond, Buffer.from(input)),
  }
}

async function transcribe(contentType: string, body: Buffer): Promise<Made> {
  const headers = { "content-type": contentType }
  const form = await new Response(new Uint8Array(body), { headers }).formData().catch(() => null)
  if (form === null) return refuse("The body of the request is not a form.", null, "invalid_form")
  const [model, file, format] = [form.get("model"), form.get("file"), form.get("response_format")]
  const unknown = unknownModel(typeof model === "string" ? model : undefined)
  if (unknown !== null) return unknown
  if (file === null || typeof file === "string" || file.size === 0) return missing("file")
  const bytes = Buffer.from(await file.arrayBuffer())
  const text = heard(bytes) ?? `A sound of ${bytes.length} bytes, which the demo model cannot understand.`
  if (format === "text") return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: text }
  const [input_tokens, output_tokens] = [Math.ceil(bytes.length / 1600), Math.ceil(text.length / 4)]
  const usage = { type: "tokens", input_tokens, output_tokens, total_tokens: input_tokens + output_tokens }
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify({ text, usage }) }
}

/** The words in the comment of a sound that the demo model has made. */
function heard(bytes: Buffer): string | null {
  const at = bytes.lastIndexOf("INFOICMT")
  if (!bytes.subarray(0, 4).equals(Buffer.from("RIFF")) || at < 0 || at + 12 > bytes.length) return null
  const size = bytes.readUInt32LE(at + 8)
  return bytes.subarray(at + 12, at + 12 + size).toString("utf8")
}
