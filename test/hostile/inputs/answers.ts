import type { ServerResponse } from "node:http"
import zlib from "node:zlib"
import { startServer, type TestServer } from "../../support/http-server.ts"
import { tinyMcp, type TinyCall } from "../../support/tiny-mcp.ts"
import { provider } from "../hostile-backend.ts"
import type { Hostile } from "../hostile-input.ts"

// Answers of tools, MCP servers and models: compressed twice, many large ones at once, and large ones that do not end.

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const calls = (count: number): string => `dynamic {
${times(count, (at) => `d${at}: call tool.t`).join("\n")}
}
output { done: [${times(count, (at) => `dynamic.d${at} == null`).join(", ")}] }`

const ofApi = ({ origin }: TestServer, count: number, more = ""): string =>
  `api a { endpoint: "${origin}" max_retries: 0 ${more} }\ntool t from api.a."GET /x"\n${calls(count)}`

const ofMcp = (url: string, count: number): string =>
  `mcp s { endpoint: "${url}" }\ntool t from mcp.s.tool.t\n${calls(count)}`

const ofModel = (backend: TestServer, count: number): string => `${provider(backend)}
${times(count, (at) => `agent a${at} { model: model.m instruction: "Go" output { message: string } }`).join("\n")}
output { m: agent.a0.message }`

const row = { id: 12_345, name: "some name", tags: ["a", "b", "c"], ok: true, value: 1.5 }
const rows = (bytes: number): { items: (typeof row)[] } => ({
  items: times(Math.floor(bytes / JSON.stringify(row).length), () => row),
})

/** A row whose server answers each request like this. */
function answering(
  name: string,
  kinds: Hostile["kinds"],
  answer: (response: ServerResponse) => void,
  source: (server: TestServer) => string,
  options: Readonly<Record<string, number>>,
  runs = 1,
): Hostile {
  return {
    name,
    kinds,
    prepare: async (service, during) => {
      const server = await startServer((_, response) => answer(response))
      during(() => server.close())
      return () => Promise.all(times(runs, () => service.execute(source(server), { options })))
    },
  }
}

/** A frame that a decoder passes over, and nothing else: as large as it says. */
function skipped(bytes: number): Buffer {
  const frame = Buffer.alloc(8 + bytes)
  frame.writeUInt32LE(0x18_4d_2a_50, 0)
  frame.writeUInt32LE(bytes, 4)
  return frame
}

/** 200 MB that say nothing in a few kilobytes. Made when it is needed. */
let twice: Buffer | null = null
const compressed = (response: ServerResponse): void => {
  response
    .writeHead(200, { "content-type": "application/json", "content-encoding": "zstd, zstd" })
    .end((twice ??= zlib.zstdCompressSync(skipped(200_000_000))))
}
const frames = Buffer.concat([Buffer.alloc(4_500_000, zlib.zstdCompressSync("")), Buffer.alloc(100_000, 7)])

const json = { "content-type": "application/json" }

const begun = (beginning: string, bytes: number): ((response: ServerResponse) => void) => {
  const part = Buffer.from(`${beginning}${"x".repeat(bytes)}`)
  return (response) => response.writeHead(200, { "content-type": "application/json" }).write(part)
}

const many = { timeout_ms: 60_000, max_concurrency: 48 }
const held = { timeout_ms: 12_000, max_concurrency: 200 }

export const answers: readonly Hostile[] = [
  answering("16 answers of an API that are compressed twice", ["tool_error"], compressed, (api) => ofApi(api, 16), {
    timeout_ms: 5_000,
    max_concurrency: 16,
  }),
  answering(
    "16 answers of models that are compressed twice",
    ["provider_error"],
    compressed,
    (backend) => ofModel(backend, 16),
    { timeout_ms: 5_000, max_concurrency: 16 },
  ),
  answering(
    "16 answers of empty frames, with something else after them",
    // A thousand frames of each answer are read in turns, at every attempt: a busy machine takes longer than the run may.
    [null, "tool_error", "timeout"],
    (response) => response.writeHead(200, { "content-encoding": "zstd" }).end(frames),
    (api) => ofApi(api, 16),
    { timeout_ms: 30_000, max_concurrency: 16 },
  ),
  answering(
    "48 answers of 1.5 MB from an API at once",
    [null, "limit_exceeded", "timeout"],
    (() => {
      const body = JSON.stringify(rows(1_500_000))
      return (response: ServerResponse) =>
        void response.writeHead(200, { "content-type": "application/json" }).end(body)
    })(),
    (api) => ofApi(api, 48, "timeout_seconds: 60"),
    many,
  ),
  {
    name: "32 answers of 0.9 MB from an MCP server at once, as values and as texts",
    kinds: [null, "limit_exceeded", "timeout"],
    prepare: async (service, during) => {
      const structuredContent = rows(900_000)
      const text = JSON.stringify(structuredContent)
      const values = await tinyMcp({ t: () => ({ content: [], structuredContent }) })
      const texts = await tinyMcp({ t: () => ({ content: [{ type: "text", text }] }) })
      during(() => Promise.all([values.close(), texts.close()]))
      return async () => [
        await service.execute(ofMcp(values.url, 32), { options: many }),
        await service.execute(ofMcp(texts.url, 32), { options: many }),
      ]
    },
  },
  answering(
    "200 answers of 7.9 MB from an API that do not end, in four runs",
    ["timeout"],
    begun('{"t":"', 7_900_000),
    (api) => ofApi(api, 50),
    held,
    4,
  ),
  {
    name: "1,600 answers of 2 MB that do not end, in eight runs, and another caller's calls of the same API",
    kinds: ["timeout"],
    prepare: async (service, during) => {
      const hang = begun('{"t":"', 2_000_000)
      let hung = 0
      const many = Promise.withResolvers<void>()
      const server = await startServer(({ url }, response) => {
        const size = url === "/small" ? 20_000 : 1_000_000
        if (url !== "/x") return void response.writeHead(200, json).end(JSON.stringify("y".repeat(size)))
        hang(response)
        if (++hung === 900) many.resolve()
      })
      during(() => server.close())
      const other = (path: string): string =>
        ofApi(server, 5, "timeout_seconds: 20").replace('"GET /x"', `"GET ${path}"`)
      const options = { timeout_ms: 60_000, max_concurrency: 200 }
      return async () => {
        const attack = times(8, () => service.execute(ofApi(server, 200, "timeout_seconds: 100"), { options }))
        await Promise.race([many.promise, Promise.all(attack)])
        for (const path of ["/small", "/large", "/small"]) await service.otherRun(other(path), {})
        return Promise.all(attack)
      }
    },
  },
  answering(
    "200 answers of 3.9 MB from models that do not end",
    ["timeout"],
    begun('{"output":[{"type":"message","content":[{"type":"output_text","text":"', 3_900_000),
    (backend) => ofModel(backend, 200),
    held,
  ),
  {
    name: "200 answers of 7.9 MB from an MCP server that do not end",
    kinds: ["timeout"],
    prepare: async (service, during) => {
      const begin = begun('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"', 7_900_000)
      const hold = ({ response }: TinyCall): undefined => {
        begin(response)
      }
      const server = await tinyMcp({ t: hold })
      during(() => server.close())
      return async () => [await service.execute(ofMcp(server.url, 200), { options: held })]
    },
  },
]
