import { essenceOf } from "../../base/media-type.ts"
import { failure } from "../../ports/run-failure.ts"
import { brokenAnswer } from "../model-turn/upstream-failure.ts"
import { audioApi } from "./audio-api.ts"
import { lastSaid, textOf } from "./transcription.ts"

/** Sound of some minutes: what a step may hold at once. */
const largestSound = 16 * 1024 * 1024

/** OpenAI's `/audio/speech`: the instruction is what is said. */
export const speechApi = audioApi({
  name: "speech",
  path: "/audio/speech",
  otherKind: "The backend of the model may have no `/audio/speech`",
  options: () => ({}),
  reserved: ["input", "stream_format"],
  write({ request }, options) {
    const { model, path, input, system } = request
    const text = textOf(lastSaid(input))
    if (text === "") throw failure("evaluation_error", path, "The instruction has no text to be said")
    // The vendor wants a voice; all its models have this one.
    const fields = { voice: "alloy", ...options, model, input: text }
    return { fields: { ...fields, ...(system !== null && { instructions: system }) } }
  },
  max_bytes: largestSound,
  async read(response) {
    const media_type = essenceOf(response.headers["content-type"] ?? "")
    const pieces: Uint8Array[] = []
    for await (const piece of response.body) pieces.push(piece)
    const bytes = Buffer.concat(pieces)
    if (!media_type.startsWith("audio/") || bytes.length === 0) {
      throw brokenAnswer("The model backend answered with no sound", false)
    }
    return {
      text: "",
      tool_calls: [],
      usage: null,
      hidesReasoning: false,
      media: () => [{ media_type, bytes }],
      toMessage: (kept) => ({ role: "assistant", parts: [{ type: "text", text: kept }] }),
    }
  },
})
