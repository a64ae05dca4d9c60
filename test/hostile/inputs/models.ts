import type { JsonObject } from "../../../src/base/json-value.ts"
import { messageItem, response } from "../../support/fake-backend.ts"
import { startServer } from "../../support/http-server.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import { answered, provider, replied } from "../hostile-backend.ts"
import type { Hostile } from "../hostile-input.ts"

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const agent = (more = "", name = "a"): string =>
  `agent ${name} { model: model.m instruction: "Go." ${more} output { message: string } }`
const result = "output { m: agent.a.message }"

export const models: readonly Hostile[] = [
  {
    name: "an answer 100,000 levels deep",
    kinds: ["output_error", "provider_error"],
    prepare: async (service, during) => {
      const text = `{"message":${"[".repeat(100_000)}${"]".repeat(100_000)}}`
      const backend = await replied(() => response([messageItem(text)]))
      during(() => backend.close())
      return async () => [await service.execute(`${provider(backend)}\n${agent()}\n${result}`)]
    },
  },
  {
    name: "an answer of 50 MB",
    kinds: ["provider_error"],
    prepare: async (service, during) => {
      const backend = await answered(() => ({ message: "x".repeat(50_000_000) }))
      during(() => backend.close())
      return async () => [await service.execute(`${provider(backend)}\n${agent()}\n${result}`)]
    },
  },
  {
    name: "answers of 4 MB, one after the other",
    kinds: ["limit_exceeded"],
    settings: { WIRE_MAX_RUN_MEMORY: "32mb" },
    prepare: async (service, during) => {
      const backend = await answered(() => ({ message: "x".repeat(4_000_000) }))
      during(() => backend.close())
      const agents = times(20, (at) => agent("", `a${at}`))
      return async () => [
        await service.execute(`${provider(backend)}\n${agents.join("\n")}\noutput { m: agent.a0.message }`, {
          options: { max_concurrency: 1 },
        }),
      ]
    },
  },
  {
    name: "3 MB of code fences in an answer",
    kinds: ["output_error"],
    prepare: async (service, during) => {
      const text = "```\n".repeat(800_000)
      const body = response([messageItem(text)])
      const backend = await replied(() => body)
      during(() => backend.close())
      return async () => [await service.execute(`${provider(backend)}\n${agent()}\n${result}`)]
    },
  },
  {
    name: "answers of 4 MB of keys and of empty objects, for every kind of provider, whole and streamed",
    kinds: ["provider_error"],
    prepare: async (service, during) => {
      const keys = `{${times(250_000, (at) => `"k${at}":1`).join(",")}}`
      const dense = [keys, `{"a":[${"{},".repeat(1_300_000)}{}]}`]
      let n = 0
      const backend = await startServer((request, reply) => {
        const text = dense[n++ % 2] ?? ""
        const isStream = request.body.includes('"stream":true') || request.url.includes("stream")
        reply.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" })
        reply.end(isStream ? `data: ${text}\n\n` : text)
      })
      during(() => backend.close())
      return async () => {
        const answers = []
        for (const kind of ["openai", "openai_chat", "anthropic", "google"] as const) {
          for (const deltas of [false, false, true, true]) {
            const source = `${provider(backend, undefined, kind)}\n${agent()}\n${result}`
            answers.push(await service.execute(source, { options: { deltas } }))
          }
        }
        return answers
      }
    },
  },
  {
    name: "100,000 tool calls in one turn",
    kinds: ["limit_exceeded", "provider_error"],
    prepare: async (service, during) => {
      const tools = await tinyMcp({ t: () => ({ content: [] }) })
      const calls = times(100_000, (at): JsonObject => ({
        type: "function_call",
        id: `fc_${at}`,
        call_id: `c${at}`,
        name: "t",
        arguments: "{}",
      }))
      const body = response(calls)
      const backend = await replied(() => body)
      during(() => backend.close())
      during(() => tools.close())
      const imports = `mcp s { endpoint: "${tools.url}" }\ntool t from mcp.s.tool.t {}`
      return async () => [
        await service.execute(`${provider(backend)}\n${imports}\n${agent("uses: [tool.t]")}\n${result}`),
      ]
    },
  },
  {
    name: "a backend that refuses a field in new words each time",
    kinds: ["provider_error"],
    prepare: async (service, during) => {
      let n = 0
      const backend = await replied(() => ({
        status: 400,
        body: {
          error: {
            message: `Unknown parameter: 'a.b' (${n++})`,
            type: "invalid_request_error",
            param: "a.b",
            code: null,
          },
        },
      }))
      during(() => backend.close())
      const source = `${provider(backend, 'max_retries: 100 extra { "a.b": 1 }')}\n${agent()}\n${result}`
      return async () => [await service.execute(source)]
    },
  },
  {
    name: "secrets of 64 KB in all, alike and echoed back",
    kinds: [null],
    prepare: async (service, during) => {
      const names = times(4, (at) => `s${at}`)
      const secrets = Object.fromEntries(names.map((name, at) => [name, `${"ab".repeat(8_000 - at)}c`]))
      const echo = Object.values(secrets).join(" ").repeat(20)
      const backend = await answered(() => ({ message: echo }))
      during(() => backend.close())
      const declared = `secrets { ${names.map((name) => `${name}: string`).join(" ")} }`
      return async () => {
        const answer = await service.execute(`${declared}\n${provider(backend)}\n${agent()}\n${result}`, { secrets })
        if (answer.text.includes("abababab")) throw new Error("A secret came back")
        return [answer]
      }
    },
  },
]
