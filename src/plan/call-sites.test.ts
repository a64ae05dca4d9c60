import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../compile.ts"
import { prepare } from "./prepare.ts"

const head = `
mcp m { endpoint: "http://localhost/mcp" }
tool find from mcp.m.tool.find { input { q: string } }
tool note from mcp.m.tool.note { input { q: string } }
resource page from mcp.m.resource.page
prompt hello from mcp.m.prompt.hello
provider p from openai { endpoint: "demo" }
model a from p { id: "demo" }
`

const agent = `agent one {
    model: model.a
    uses: [tool.note, prompt.hello]
    instruction: "{{ call tool.find { input { q: "1" } } }}"
    output { t: string }
}
`

function planOf(source: string) {
  const { plan, diagnostics } = compile(head + source)
  assert.ok(plan !== undefined, JSON.stringify(diagnostics))
  return plan
}

/** The durable identities of a workflow's call sites, uses included. */
function sites(source: string): string[] {
  const plan = planOf(source)
  const uses = plan.nodes.flatMap((node) => (node.kind === "agent" ? node.uses.map((use) => use.site) : []))
  return [...prepare(plan).effects.map(({ site }) => site), ...uses].toSorted()
}

const find = (q: string): string => `call tool.find { input { q: "${q}" } }`

test("a call site is named by its place, what it does and to what", () => {
  assert.deepEqual(sites(`dynamic { d: [${find("1")}, read resource.page, render prompt.hello]\n}\n${agent}`), [
    "agent.one.instruction/call find",
    "agent.one.uses/use prompt.hello",
    "agent.one.uses/use tool.note",
    "dynamic.d/call find",
    "dynamic.d/read page",
    "dynamic.d/render hello",
  ])
})

test("only the same call in the same place is numbered, also one within another", () => {
  const nested = `call tool.find { input { q: "{{ ${find("2")} }}" } }`
  assert.deepEqual(sites(`dynamic { d: [${nested}, ${find("3")}] }`), [
    "dynamic.d/call find",
    "dynamic.d/call find (2)",
    "dynamic.d/call find (3)",
  ])
})

test("edits elsewhere in the file change no identity", () => {
  const before = sites(`dynamic { d: ${find("1")} }\n${agent}`)
  const after = sites(
    `dynamic { early: read resource.page\n other: ${find("0")} }
     agent before { model: model.a instruction: "{{ ${find("0")} }}" output { t: string } }
     ${agent}
     dynamic { d: [read resource.page, call tool.note { input { q: "x" } }, ${find("1")}] }`,
  )
  for (const site of before) assert.ok(after.includes(site), site)
})
