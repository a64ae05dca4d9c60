import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../compile.ts"
import { mayWait } from "./may-wait.ts"

const head = `
mcp m { endpoint: "http://localhost/mcp" }
provider p from openai { endpoint: "demo" }
model a from p { id: "demo" }
`
const plain = "tool pay from mcp.m.tool.pay"
const guarded = "tool pay from mcp.m.tool.pay { approval: required }"
const batch = "from mcp.m { tool pay { approval: none }, approval { } }"
const question = 'ask q { question: "?" output { a: string } }'
const agent = (uses: string): string =>
  `agent x { model: model.a uses: [${uses}] instruction: "?" output { t: string } }`

const cases: readonly [boolean, string, string][] = [
  [false, "nothing to wait for", agent("")],
  [true, "a question", question],
  [true, "a question that a condition may skip", question.replace("q {", "q when 1 == 2 {")],
  [false, "an import that demands an approval and that nobody uses", guarded],
  [true, "an agent that uses it", `${guarded}\n${agent("tool.pay")}`],
  [true, "a use cannot lift what the import demands", `${guarded}\n${agent("tool.pay { approval: none }")}`],
  [true, "nor an item what its batch demands", `${batch}\n${agent("tool.pay")}`],
  [true, "a use that demands it", `${plain}\n${agent("tool.pay { approval { } }")}`],
  [false, "a use that does not", `${plain}\n${agent("tool.pay { approval: none }")}`],
  [true, "a call deep inside of a value", `${guarded}\ndynamic { d: [{ a: call tool.pay ?? 1 }] }`],
  [true, "a call that demands it itself", `${plain}\ndynamic { d: call tool.pay { approval: required } }`],
  [false, "a call that does not", `${plain}\ndynamic { d: call tool.pay }`],
]

for (const [waits, about, source] of cases) {
  test(`${waits ? "may wait" : "never waits"}: ${about}`, () => {
    const { plan, diagnostics } = compile(head + source)
    assert.ok(plan !== undefined, JSON.stringify(diagnostics))
    assert.equal(mayWait(plan), waits)
  })
}
