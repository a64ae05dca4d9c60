import type { Hostile } from "../hostile-input.ts"
import { sends } from "../hostile-input.ts"
import { hardest, mebibytes } from "../mebibyte.ts"

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const ten = times(10, () => 1).join(", ")
/** Each value is ten times the one before it: 10^12 in 1.5 KB. */
const shared = times(12, (at) => `f${at}: [${at === 0 ? ten : times(10, () => `dynamic.f${at - 1}`).join(", ")}]`)

const demo = 'provider p from openai { endpoint: "demo" }\nmodel m from p { id: "demo" }'

export const sources: readonly Hostile[] = [
  sends("1.5 KB of source that make a value of 10^12 numbers", ["limit_exceeded"], async (service) => [
    await service.execute(`dynamic { ${shared.join("\n")} }\noutput { x: dynamic.f11 }`),
  ]),
  sends("a demo model that is asked for 10^12 values", ["provider_error", "validation_error"], async (service) => [
    await service.execute(`${demo}
agent a { model: model.m instruction: "Go." output { x: [[[boolean; 10000]; 10000]; 10000] } }
output { x: agent.a.x }`),
  ]),
  sends("a demo model that is asked for a value without end", ["invalid_request"], async (service) => {
    const schema = { type: "object", properties: { a: { $ref: "#" }, b: { $ref: "#" } }, required: ["a", "b"] }
    const text = { format: { type: "json_schema", name: "x", schema } }
    // The demo model answers like OpenAI's API: the status says it.
    const answers = await Promise.all(
      times(5, () => service.post("/demo/v1/responses", { model: "demo", input: "Go.", text })),
    )
    return answers.map((answer) => ({ ...answer, kind: answer.status === 400 ? "invalid_request" : answer.kind }))
  }),
  sends("a bracket in the place of a brace, never closed", ["validation_error"], async (service) => [
    await service.execute("schema s {\n  v: variant kind {\n    a [\n      b: string\n    }\n  }\n}"),
  ]),
  sends("retries without end", ["validation_error"], async (service) => [
    await service.execute(`provider p from openai { endpoint: "http://127.0.0.1:1/v1" inference { max_retries: 1000000000 } }
model m from p { id: "x" }
agent a { model: model.m instruction: "Go." output { x: string } }
output { x: agent.a.x }`),
  ]),
  sends(
    "sources of a megabyte",
    [null, "validation_error", "tool_error", "limit_exceeded", "overloaded"],
    (service) => {
      const fields = (count: number): string => times(count, (at) => `f${at}: ${at}`).join("\n")
      const executed = [
        `mcp z { endpoint: "http://127.0.0.1:1" }\nfrom mcp.z { ${times(84_000, (at) => `tool t${at}`).join("\n")} }`,
        `dynamic { ${fields(5_000)} }\noutput { ${fields(65_000)} }`,
      ]
      const validated = [`output { x: ${"[".repeat(1_000_000)}`]
      const headers = { "content-type": "text/plain" }
      return Promise.all([
        ...validated.map((body) => service.send("/validate", { method: "POST", headers, body })),
        ...executed.map((text) => service.execute(text)),
      ])
    },
  ),
  sends(
    "mebibytes of chains and mistakes, four at once",
    [null, "validation_error", "limit_exceeded"],
    async (service) => {
      const headers = { "content-type": "text/plain" }
      const validated = await Promise.all(
        Object.values(hardest)
          .slice(0, 4)
          .map((make) => service.send("/validate", { method: "POST", headers, body: make() })),
      )
      const chain = hardest["a chain of values"]()
      const mistakes = mebibytes["names that are almost known"]()
      const executed = await Promise.all([chain, chain, mistakes, mistakes].map((source) => service.execute(source)))
      return [...validated, ...executed]
    },
  ),
  sends("a source that is 150 times as long when it is formatted", ["limit_exceeded"], async (service) => {
    const types = times(4_000, (at) => `schema s${at} { a: ${"[".repeat(95)}string${"]".repeat(95)} }`)
    return [await service.post("/format", { workflow_source: types.join("\n") })]
  }),
  sends("a source of brackets", ["validation_error"], async (service) =>
    Promise.all(
      ["[", "{", "(", '"{{ ', "a.", "/*", "dynamic { a: "].map((piece) => service.execute(piece.repeat(4_000))),
    ),
  ),
]
