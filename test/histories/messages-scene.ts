import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import type { Served } from "../support/in-process-tools.ts"
import { record, string } from "../support/build-types.ts"

// A run whose conversations hold every kind of message that a log keeps: reasoning and ids that only one backend understands,
// several calls in a turn, images of a tool, files, a prompt, an answer that was repaired, contexts whole and compacted.

/** The address stays the same from recording to recording: reasoning is marked with it. */
export const endpoint = "http://backend.example.com/v1"

export const source = `
input { topic: string }
provider p from openai { endpoint: "${endpoint}" }
provider other from openai { endpoint: "${endpoint}/other" }
model m from p { id: "m" assets: [image, document, video] inference { reasoning_effort: "low" } }
model strict from p { id: "strict" inference { reasoning_effort: "low" } }
model elsewhere from other { id: "m" }
mcp s { endpoint: "http://tools.test/mcp" }
tool look from mcp.s.tool.look { idempotent: true }
prompt style from mcp.s.prompt.style

agent research {
    model: model.m
    uses: [prompt.style, tool.look]
    instruction: "Research {{ input.topic }}: {{ asset "https://x.test/a.png" { type: image title: "a" } }} and {{ asset "AAAA" { type: document } }}"
    file { name: "notes.md" content: "# {{ input.topic }}" }
    output { message: string }
}

agent repaired {
    model: model.strict
    context: agent.research
    instruction: "Repair"
    output { message: string }
}

agent further {
    model: model.m
    context: agent.repaired
    instruction: "Further"
    output { message: string }
}

agent elsewhere {
    model: model.elsewhere
    context: agent.further
    instruction: "Elsewhere"
    output { message: string }
}

agent sum {
    model: model.m
    context: compact agent.further { model: model.m }
    instruction: "Sum {{ agent.elsewhere.message }}"
    output { message: string }
}

output { sum: agent.sum.message }
`

export const input = { topic: "wires" }

export const served: Served = {
  tools: {
    look: {
      input: record({ at: string }),
      idempotent: true,
      call: ({ at }) =>
        at === "picture"
          ? {
              text: "a picture",
              parts: [
                { type: "text", text: "Seen" },
                { type: "image", url: "data:image/png;base64,AAAA", media_type: "image/png" },
              ],
              is_error: false,
            }
          : { text: `saw ${typeof at === "string" ? at : ""}`, is_error: false },
    },
  },
  prompts: {
    style: {
      arguments: [],
      render: () => [
        { role: "user", text: "Be brief.", images: [] },
        { role: "assistant", text: "Yes.", images: [] },
      ],
    },
  },
}

/** The answer follows from the request alone. */
export function answerTo(body: JsonObject): JsonObject {
  const items = body["input"] as JsonObject[]
  const last = JSON.stringify(items.at(-1))
  const usage = { input_tokens: 10 + items.length, output_tokens: 5 }
  const thought = {
    type: "reasoning",
    id: `rs_${items.length}`,
    summary: [{ type: "summary_text", text: "Thinking." }],
    encrypted_content: `encrypted ${items.length}`,
  }
  const say = (text: string): JsonObject => ({
    status: "completed",
    output: [
      thought,
      {
        type: "message",
        id: `msg_${items.length}`,
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text, annotations: [] }],
      },
    ],
    usage,
  })
  if (body["tools"] !== undefined && !items.some((item) => item["type"] === "function_call_output")) {
    const call = (id: string, at: string): JsonValue => {
      return { type: "function_call", id: `fc_${id}`, call_id: id, name: "look", arguments: JSON.stringify({ at }) }
    }
    return { status: "completed", output: [thought, call("c1", "here"), call("c2", "picture")], usage }
  }
  if (last.includes("Summarise the conversation")) return say("They looked.")
  if (last.includes("Repair")) return say('{"message":7}')
  return say(JSON.stringify({ message: `answer ${items.length}` }))
}
