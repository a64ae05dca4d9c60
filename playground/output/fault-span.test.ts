import assert from "node:assert/strict"
import { test } from "node:test"
import type { ApiErrorKind } from "../../src/api/error-kinds.ts"
import { compile } from "../../src/compile.ts"
import { placesOf } from "../../src/check/declared-places.ts"
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

    inference {
        timeout_seconds: 5
    }
}

limits {
    tool_calls: 2
}

agent writer for n in [1, 2] {
    model: model.small
    instruction: "Write {{ n }}."

    limits {
        model_calls: 9
    }

    output {
        text: string
    }
}

output {
    texts: agent.writer.*.text
}
`

/** The text of the place that an error of the writer leads to. */
function placeOf(
  upstream_status?: number,
  path = "agent.writer[1]",
  kind: ApiErrorKind = "provider_error",
): string | undefined {
  const { program, plan } = compile(source)
  const issue = { path, message: "", ...(upstream_status !== undefined && { upstream_status }) }
  const span = faultSpan(placesOf(program), plan, { kind, message: "", issues: [issue] })
  return span === undefined ? undefined : source.slice(span.start, span.end)
}

test("a provider's answer leads to the setting that it is about", () => {
  assert.equal(placeOf(404), 'id: "no-such"')
  assert.equal(placeOf(401), "api_key: secrets.key")
  assert.equal(placeOf(), 'endpoint: "https://api.example.org/v1"')
  assert.equal(placeOf(503), "agent writer")
  assert.equal(placeOf(404, "agent.gone"), undefined)
})

test("an error leads to the property that its path names, inside of blocks and for items of a loop too", () => {
  assert.equal(placeOf(undefined, "agent.writer[1].instruction", "evaluation_error"), 'instruction: "Write {{ n }}."')
  assert.equal(placeOf(undefined, "agent.writer.limits.model_calls", "limit_exceeded"), "model_calls: 9")
  assert.equal(placeOf(undefined, "limits.tool_calls", "limit_exceeded"), "tool_calls: 2")
  assert.equal(placeOf(undefined, "output.texts", "output_error"), "texts: agent.writer.*.text")
  assert.equal(placeOf(undefined, "agent.writer[1]", "timeout"), "timeout_seconds: 5")
  assert.equal(placeOf(undefined, "agent.writer.limits.time_seconds", "timeout")?.startsWith("limits {"), true)
})
