import type { JsonObject } from "../../../src/base/json-value.ts"
import { sendResult, startRawServer } from "../../support/mcp-server.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import type { Hostile } from "../hostile-input.ts"
import type { Answer } from "../hostile-service.ts"

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const source = (url: string, more = ""): string => `mcp s { endpoint: "${url}" }
tool t from mcp.s.tool.t ${more}
dynamic { d: call tool.t }
output { d: dynamic.d }`

/** A server that publishes this with its tool. */
function publishing(
  name: string,
  kinds: Hostile["kinds"],
  published: JsonObject,
  more = "",
  content?: JsonObject,
): Hostile {
  return {
    name,
    kinds,
    prepare: async (service, during) => {
      const server = await tinyMcp({ t: () => ({ content: [], ...content }) }, published)
      during(() => server.close())
      return async () => [await service.execute(source(server.url, more))]
    },
  }
}

const anchors = times(6000, (at): JsonObject => ({ $anchor: `a${at}` }))

const choices: JsonObject = { d12: { type: "string" } }
for (let level = 0; level < 12; level++) {
  choices[`d${level}`] = { anyOf: times(20, () => ({ $ref: `#/$defs/d${level + 1}` })) }
}

export const servers: readonly Hostile[] = [
  publishing("a schema with 6,000 anchors that are all used", [null, "tool_error"], {
    inputSchema: {
      type: "object",
      $defs: { all: { prefixItems: anchors } },
      allOf: anchors.map((_, at) => ({ $ref: `#a${5999 - at}` })),
    },
  }),
  publishing(
    "choices of references, twelve levels deep",
    [null, "tool_error"],
    { outputSchema: { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs: choices } },
    "{ output { a: number } }",
    { structuredContent: { a: 1 } },
  ),
  publishing("a schema that refers to itself without end", [null, "tool_error"], {
    inputSchema: { type: "object", allOf: [{ $ref: "#" }] },
  }),
  {
    name: "a schema 50,000 levels deep",
    kinds: ["tool_error"],
    prepare: async (service, during) => {
      const deep = `${'{"allOf":['.repeat(50_000)}{}${"]}".repeat(50_000)}`
      const server = await startRawServer({
        "tools/list": ({ id }, response) => {
          response.writeHead(200, { "content-type": "application/json" })
          const tool = `{"name":"t","inputSchema":{"type":"object","properties":{"a":${deep}}}}`
          response.end(
            `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete","tools":[${tool}]}}`,
          )
        },
      })
      during(() => server.close())
      return async () => [await service.execute(source(server.url))]
    },
  },
  {
    name: "forty results against a pattern that backtracks",
    kinds: [null, "tool_error"],
    prepare: async (service, during) => {
      const outputSchema = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } }
      const result = { content: [], structuredContent: { a: `${"a".repeat(50_000)}!` } }
      const server = await tinyMcp({ t: () => result }, { outputSchema })
      during(() => server.close())
      const calls = times(40, (at) => `d${at}: call tool.t`)
      const imported = `mcp s { endpoint: "${server.url}" }\ntool t from mcp.s.tool.t`
      return async () => [
        await service.execute(`${imported}\ndynamic { ${calls.join("\n")} }\noutput { d: dynamic.d0 }`),
      ]
    },
  },
  {
    name: "pages of tools without end",
    kinds: ["tool_error"],
    prepare: async (service, during) => {
      let n = 0
      const server = await startRawServer({
        "tools/list": ({ id }, response) => {
          n++
          const description = "x".repeat(5_000)
          const tools = times(100, (at) => ({ name: `x${n}_${at}`, description, inputSchema: { type: "object" } }))
          sendResult(response, id, { tools, nextCursor: `page-${n}` })
        },
      })
      during(() => server.close())
      return async () => [await service.execute(source(server.url))]
    },
  },
  {
    name: "200 tools of servers with names of 165,000 characters, then /metrics",
    kinds: [null],
    prepare: async (service, during) => {
      const server = await tinyMcp({ t: () => ({ content: [] }) })
      during(() => server.close())
      const tools = times(5, (at) => `t${at}`)
      const calls = tools.map((tool) => `${tool}: call tool.${tool}`).join(" ")
      return async () => {
        const answers: Answer[] = []
        for (const run of times(40, (at) => at)) {
          const name = `s${run}${"x".repeat(165_000)}`
          const imports = tools.map((tool) => `tool ${tool} from mcp.${name}.tool.t`).join("\n")
          const declared = `mcp ${name} { endpoint: "${server.url}" }\n${imports}`
          answers.push(await service.execute(`${declared}\noutput { ${calls} }`))
        }
        answers.push(await service.send("/metrics"))
        return answers
      }
    },
  },
]
