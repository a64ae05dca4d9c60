import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import { faultSpan } from "./fault-span.ts"

const source = `provider llm from openai {
    endpoint: "https://api.example.org/v1"
    api_key: secrets.key
}

secrets {
    key: string
}

model small from llm {
    id: "no-such"
}

agent writer for n in [1, 2] {
    model: model.small
    instruction: "Write {{ n }}."

    output {
        text: string
    }
}

output {
    texts: agent.writer.*.text
}
`

/** The text of the place that an error of the writer leads to. */
function placeOf(upstream_status?: number, path = "agent.writer[1]"): string | undefined {
  const { program, plan } = compile(source)
  const issue = { path, message: "", ...(upstream_status !== undefined && { upstream_status }) }
  const span = faultSpan(program, plan, { kind: "provider_error", message: "", issues: [issue] })
  return span === undefined ? undefined : source.slice(span.start, span.end)
}

test("a provider's answer leads to the setting that it is about", () => {
  assert.equal(placeOf(404), 'id: "no-such"')
  assert.equal(placeOf(401), "api_key: secrets.key")
  assert.equal(placeOf(), 'endpoint: "https://api.example.org/v1"')
  assert.equal(placeOf(503), "agent writer")
  assert.equal(placeOf(404, "agent.gone"), undefined)
})
