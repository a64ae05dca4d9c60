import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import { sendResult, startRawServer } from "../../support/mcp-server.ts"
import type { Hostile } from "../hostile-input.ts"

// MCP servers that ask people during a call, and mean harm.

const source = (url: string): string => `mcp s { endpoint: "${url}"  elicitation: ask }
tool t from mcp.s.tool.t
dynamic { d: call tool.t }
output { d: dynamic.d }`

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

/** A server whose tool answers every call with this; a text is sent as it is. Then the questions that wait are listed. */
function asking(name: string, kinds: Hostile["kinds"], result: () => JsonObject | string): Hostile {
  return {
    name,
    kinds,
    prepare: async (service, during) => {
      const server = await startRawServer({
        "tools/list": ({ id }, response) =>
          sendResult(response, id, { tools: [{ name: "t", inputSchema: { type: "object" } }] }),
        "tools/call": ({ id }, response) => {
          const asked = result()
          const text = typeof asked === "string" ? asked : JSON.stringify({ resultType: "input_required", ...asked })
          response.writeHead(200, { "content-type": "application/json" })
          response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`)
        },
      })
      during(() => server.close())
      return async () => [await service.execute(source(server.url)), await service.send("/questions")]
    },
  }
}

const form = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  method: "elicitation/create",
  params: { mode: "form", message: "Sure?", requestedSchema: { type: "object", properties }, ...more },
})

const field = (more: JsonObject): JsonObject => ({ inputRequests: { a: form({ a: { type: "string", ...more } }) } })

const long = "x".repeat(4_000_000)
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`

export const askingServers: readonly Hostile[] = [
  asking("a default 50,000 levels deep", [null, "tool_error"], () => {
    const asked = JSON.stringify({ resultType: "input_required", ...field({ default: "here" }) })
    return asked.replace('"here"', deep(50_000))
  }),
  asking("10,000 questions at a time", [null, "tool_error"], () => ({
    inputRequests: Object.fromEntries(times(10_000, (at): [string, JsonValue] => [`q${at}`, form({})])),
  })),
  asking("a question with 20,000 fields", [null, "tool_error"], () => ({
    inputRequests: {
      a: form(Object.fromEntries(times(20_000, (at): [string, JsonValue] => [`f${at}`, { type: "string" }]))),
    },
  })),
  asking("a choice of 100,000 values", [null, "tool_error"], () => field({ enum: times(100_000, (at) => `v${at}`) })),
  asking("a default of 4 MB", [null, "tool_error"], () => field({ default: long })),
  asking("a name of a field of 4 MB", [null, "tool_error"], () => ({
    inputRequests: { a: form({ [long]: { type: "string" } }) },
  })),
  asking("a key of a question of 4 MB", [null, "tool_error"], () => ({ inputRequests: { [long]: form({}) } })),
  asking("a message and titles of 4 MB", [null, "tool_error"], () => ({
    inputRequests: { a: form({ a: { type: "string", title: long } }, { message: long }) },
  })),
  asking("an address of 4 MB to open", [null, "tool_error"], () => ({
    inputRequests: {
      a: {
        method: "elicitation/create",
        params: { mode: "url", message: "Sign in", url: `https://bank.example.com/${long}` },
      },
    },
  })),
  asking("a state without a question, again and again", [null, "tool_error"], () => ({
    requestState: "x".repeat(65_536),
  })),
  asking("questions that are no objects", [null, "tool_error"], () => ({
    inputRequests: { a: null, b: [], c: "elicitation/create", __proto__: { method: "elicitation/create" } },
  })),
]
