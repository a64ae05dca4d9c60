import type { Hostile } from "../hostile-input.ts"
import { sends } from "../hostile-input.ts"
import { hardest, mebibytes } from "../mebibyte.ts"

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const ten = times(10, () => 1).join(", ")
/** Each value is ten times the one before it: 10^12 in 1.5 KB. */
const shared = times(12, (at) => `f${at}: [${at === 0 ? ten : times(10, () => `dynamic.f${at - 1}`).join(", ")}]`)

const demo = 'provider p from openai { endpoint: "demo" }\nmodel m from p { id: "demo" }'

const schemas = (count: number): string => times(count, (at) => `schema s${at} { a: string, b: [integer] }\n`).join("")

export const sources: readonly Hostile[] = [
  sends("1.5 KB of source that make a value of 10^12 numbers", ["limit_exceeded"], async (service) => [
    await service.execute(`dynamic { ${shared.join("\n")} }\noutput { x: dynamic.f11 }`),
  ]),
  sends(
    "a hundred files of the largest size together",
    ["validation_error", "limit_exceeded", null],
    async (service) => {
      const modules = Object.fromEntries(times(100, (at) => [`m${at}.wire`, schemas(900)]))
      const imports = times(100, (at) => `import { schema.s0 as x${at} } from "./m${at}.wire"\n`).join("")
      return [await service.post("/execute", { workflow_source: `${imports}output { a: 1 }`, modules })]
    },
  ),
  sends("a hundred files that each import the two before them", [null], async (service) => {
    const below = (at: number): string => `import { schema.s as s${at} } from "./m${at}.wire"\n`
    const modules = Object.fromEntries(
      times(100, (at) => {
        const two = at < 2 ? "" : `${below(at - 1)}${below(at - 2)}`
        const fields = at < 2 ? "a: string" : `a: schema.s${at - 1}, b: schema.s${at - 2}`
        return [`m${at}.wire`, `${two}schema s { ${fields} }\n`]
      }),
    )
    const source = 'import { schema.s } from "./m99.wire"\ndynamic { d: [1] }\noutput { a: [s for s in dynamic.d] }'
    return [await service.post("/execute", { workflow_source: source, modules })]
  }),
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
    "ten thousand agents that read each other's words, and their reach",
    [null, "limit_exceeded"],
    async (service) => {
      const agents = times(10_000, (at) => {
        const read = at === 0 ? "input.m" : `agent.a${at - 1}.t`
        return `agent a${at} { model: model.m instruction: "{{ ${read} }}" output { t: string } }`
      })
      const source = `input { m: untrusted string }\n${demo}\n${agents.join("\n")}\noutput { t: agent.a9999.t }`
      return [await service.post("/validate", { workflow_source: source, reach: true })]
    },
  ),
  sends(
    "thousands of values that thousands of steps may decide by, and their reach",
    [null, "limit_exceeded"],
    async (service) => {
      const fields = times(6_000, (at) => `f${at}: boolean`)
      const steps = times(6_000, (at) => `d${at}: agent.a`)
      const source = `input { m: untrusted string }\n${demo}
agent a { model: model.m instruction: "{{ input.m }}" output { ${fields.join(" ")} } }
dynamic { ${steps.join("\n")} }
output { t: agent.a.f0 }`
      return [await service.post("/validate", { workflow_source: source, reach: true })]
    },
  ),
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
