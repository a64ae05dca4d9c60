import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { compile } from "../compile.ts"
import type { Reach } from "./reach-shape.ts"
import { openAgents, reachOf } from "./reach.ts"
import { growthOf } from "./reach-growth.ts"
import { reachAsMarkdown, showReach } from "./show-reach.ts"

const source = `
input { mail: untrusted string  order: string  customer: private { name: string } }
secrets { key: string  token: string }
provider eu from openai { endpoint: "https://eu.example.com/v1"  api_key: secrets.key  cleared: private }
model fast from eu { id: "m" }
mcp shop { endpoint: "https://shop.example.com/mcp"  headers { Authorization: "Bearer {{ secrets.token }}" } }
tool refund from mcp.shop.tool.refund { requires: trusted }
tool reply from mcp.shop.tool.reply { requires: [to]  max_calls: 1 }
tool search from mcp.shop.tool.search { requires: none }
tool any from mcp.shop.tool.any
agent reader { model: model.fast  instruction: "{{ input.mail }}"  uses: [tool.search]  output { wants: enum { refund, answer }  text: string } }
agent writer { model: model.fast  instruction: "{{ agent.reader.text }}"  uses: [tool.reply { bindings { to: input.order } }]  output { done: boolean } }
agent greeter { model: model.fast  instruction: "{{ input.customer.name }}"  output { text: string } }
agent doer { model: model.fast  instruction: "{{ input.order }}"  uses: [tool.refund]  output { text: string } }
dynamic {
  refunded: match agent.reader.wants { refund: call tool.refund { input { order: input.order } }  _ null }
  note: trust agent.reader.text because "a person reads it"
}
limits { model_calls: 20 }
output { refunded: dynamic.refunded  note: dynamic.note }
`

function reach(text: string): Reach {
  const { program, diagnostics } = compile(text)
  assert.deepEqual(
    diagnostics.filter(({ severity }) => severity === "error"),
    [],
  )
  return reachOf(program)
}

describe("the reach of a workflow", () => {
  test("hosts, tools, agents, decisions, bounds and exceptions", () => {
    const { hosts, tools, agents, decisions, ways, most, exceptions } = reach(source)
    const secrets = ["secrets.token"]
    assert.deepEqual(hosts, [
      {
        host: "eu.example.com",
        backend: "provider.eu",
        inputs: ["input.customer", "input.mail", "input.order"],
        secrets: ["secrets.key"],
        private: true,
      },
      { host: "shop.example.com", backend: "mcp.shop", inputs: ["input.mail", "input.order"], secrets, private: false },
    ])
    assert.deepEqual(tools, [
      { tool: "tool.refund", requires: "trusted", callers: ["agent.doer", "dynamic.refunded"], guards: ["trust"] },
      { tool: "tool.reply", requires: ["to"], callers: ["agent.writer"], guards: ["bound: to", "max_calls: 1"] },
      { tool: "tool.search", requires: "none", callers: ["agent.reader"], guards: [] },
    ])
    assert.deepEqual(
      agents.map(({ agent, pattern }) => `${agent} ${pattern}`),
      ["agent.doer privileged", "agent.greeter plain", "agent.reader quarantined", "agent.writer guarded"],
    )
    const [wants] = decisions
    assert.deepEqual(wants, {
      value: "agent.reader.wants",
      type: "enum { refund, answer }",
      sources: ["input.mail", "tool.search"],
      leads_to: ["dynamic.refunded"],
    })
    assert.deepEqual(
      ways.map((way) => `${way.from} → ${way.to}${way.untrusted ? " untrusted" : ""}${way.private ? " private" : ""}`),
      [
        "agent.reader → agent.writer untrusted",
        "agent.reader → dynamic.note untrusted",
        "input.customer → agent.greeter private",
        "input.mail → agent.reader untrusted",
        "tool.search → agent.reader untrusted",
      ],
    )
    assert.deepEqual(most.model_calls, { most: 20, by: "limits.model_calls" })
    assert.equal(most.tool_calls.most, "unbounded")
    assert.equal(most.cost.most, "unbounded")
    assert.deepEqual(exceptions, [
      { place: "dynamic.note", word: "trust", value: "agent.reader.text", because: "a person reads it" },
    ])
  })

  test("declarations of other files", () => {
    const modules = {
      "lib.wire": `secrets { token: string }
        mcp s { endpoint: "https://s.example.com/mcp"  headers { Authorization: "Bearer {{ secrets.token }}" } }
        tool act from mcp.s.tool.act { requires: trusted }`,
    }
    const { program, diagnostics } = compile(
      `import { tool.act } from "./lib.wire" { secrets { token: secrets.mine } }
      input { id: string }
      secrets { mine: string }
      output { x: call tool.act { input { id: input.id } } }`,
      { modules },
    )
    assert.deepEqual(diagnostics, [])
    const { hosts, tools } = reachOf(program)
    assert.deepEqual(hosts, [
      {
        host: "s.example.com",
        backend: "mcp.lib.wire#s",
        inputs: ["input.id"],
        secrets: ["secrets.mine"],
        private: false,
      },
    ])
    assert.deepEqual(
      tools.map(({ tool, callers }) => [tool, callers]),
      [["tool.act", ["output"]]],
    )
  })

  test("files that are called: what they reach is what the caller reaches, with the caller's secrets and inputs", () => {
    const modules = {
      "act.wire": `input { id: string }
        secrets { token: string }
        mcp s { endpoint: "https://s.example.com/mcp"  headers { Authorization: "Bearer {{ secrets.token }}" } }
        tool act from mcp.s.tool.act
        output { x: call tool.act { input { id: input.id } } }`,
      "read.wire": `input { text: string }
        secrets { key: string  token: string }
        provider p from openai { endpoint: "https://p.example.com/v1"  api_key: secrets.key  cleared: private }
        model m from p { id: "m" }
        workflow act from "./act.wire" { secrets { token: secrets.token } }
        agent reader { model: model.m  instruction: "{{ input.text }}"  output { urgent: boolean } }
        dynamic { done: call workflow.act { input { id: "7" } } }
        output { urgent: agent.reader.urgent  done: dynamic.done }`,
    }
    const { program, diagnostics } = compile(
      `input { mail: untrusted private string  other: string }
      secrets { mine: string  ours: string }
      workflow read from "./read.wire" { secrets { key: secrets.mine  token: secrets.ours } }
      output { x: call workflow.read { input { text: input.mail } }  y: call workflow.read { input { text: "plain" } }  z: input.other }`,
      { modules },
    )
    assert.deepEqual(diagnostics, [])
    const { hosts, tools, agents, decisions } = reachOf(program)
    const inputs = ["input.mail", "input.other"]
    assert.deepEqual(hosts, [
      { host: "p.example.com", backend: "read.wire#provider.p", inputs, secrets: ["secrets.mine"], private: true },
      { host: "s.example.com", backend: "act.wire#mcp.s", inputs, secrets: ["secrets.ours"], private: false },
    ])
    assert.deepEqual(
      tools.map(({ tool, callers }) => [tool, callers]),
      [["act.wire#tool.act", ["act.wire#output"]]],
    )
    assert.deepEqual(agents, [{ agent: "read.wire#agent.reader", pattern: "quarantined", reads: ["input.mail"] }])
    assert.deepEqual(
      decisions.map(({ value, leads_to }) => [value, leads_to]),
      [["read.wire#agent.reader.urgent", ["read.wire#output"]]],
    )
  })

  test("an open agent", () => {
    const open = source.replace("uses: [tool.search]", "uses: [tool.any]")
    assert.deepEqual(openAgents(compile(open).program), ["agent.reader"])
    assert.deepEqual(openAgents(compile(source).program), [])
  })

  test("model calls without limits: turns, retries, lists of models, loops", () => {
    const head = `input { items: [string] }
      provider p from openai { }
      model m from p { id: "x"  inference { max_retries: 1  output_retries: 0 } }
      model n from p { id: "x"  inference { max_retries: 0  output_retries: 1 } }\n`
    const agent = (loop: string, more: string): string =>
      `${head}agent a ${loop} { ${more} instruction: "x" output { t: string } } output { t: agent.a }`
    assert.equal(reach(agent("", "model: model.m")).most.model_calls.most, 2)
    assert.equal(reach(agent("", "model: [model.m, model.n]")).most.model_calls.most, 8)
    assert.equal(reach(agent("for i in input.items", "model: model.m")).most.model_calls.most, "unbounded")
    assert.equal(
      reach(agent("for i in input.items", "model: model.m limits { model_calls: 3 }")).most.model_calls.most,
      3,
    )
  })

  test("a guard holds for every caller, a call in a list has no bound, and secrets of bindings are sent", () => {
    const found = reach(`
      input { mail: untrusted string  urls: [string]  id: string }
      secrets { key: string  client: string }
      provider p from openai { }
      model m from p { id: "x" }
      mcp s { endpoint: "https://s.example.com/mcp"  auth { token_endpoint: "https://login.example.com/token"  client_id: "x"  client_secret: secrets.client } }
      tool act from mcp.s.tool.act { requires: trusted }
      tool get from mcp.s.tool.get { requires: none }
      agent a { model: model.m  instruction: "{{ input.mail }}"  uses: [tool.act { approval: required  max_calls: 2  bindings { key: secrets.key } }]  output { deep: { ok: boolean, text: string } } }
      agent b { model: model.m  instruction: "{{ input.id }}"  uses: [tool.act { max_calls: 2 }]  limits { tool_calls: 3 }  output { ok: boolean } }
      dynamic { pages: [call tool.get { input { url: u } } for u in input.urls] }
      output { pages: dynamic.pages }`)
    assert.deepEqual(found.tools[0]?.guards, ["max_calls: 2", "trust"])
    assert.deepEqual(found.most.tool_calls, {
      most: "unbounded",
      because: "dynamic.pages calls tool.get for each item of a list",
    })
    const hosts = found.hosts.map(({ host, backend, inputs, secrets }) => [host, backend, inputs, secrets])
    assert.deepEqual(hosts, [
      ["api.openai.com", "provider.p", ["input.id", "input.mail"], []],
      ["login.example.com", "mcp.s.auth", [], ["secrets.client"]],
      ["s.example.com", "mcp.s", ["input.id", "input.mail", "input.urls"], ["secrets.key"]],
    ])
    assert.deepEqual(
      found.decisions.map(({ value }) => value),
      ["agent.a.deep.ok"],
    )
  })

  test("growth is what was added, and higher bounds", () => {
    const before = reach(source)
    assert.deepEqual(growthOf(before, before), [])
    const after = reach(
      source
        .replace("model_calls: 20", "model_calls: 30")
        .replace("output { refunded", `output { x: trust input.mail because "y"  refunded`),
    )
    assert.deepEqual(growthOf(before, after), [
      `output.x: trust input.mail because "y"`,
      "model calls: at most 30, by limits.model_calls",
    ])
    assert.deepEqual(growthOf(after, before), [])
  })

  test("more guards, fewer sources and lower numbers are no growth; the opposite is", () => {
    const changes: readonly (readonly [string, string, readonly string[]])[] = [
      ["max_calls: 1", "max_calls: 3", ["tool.reply may be called without max_calls: 1"]],
      ["requires: [to]  max_calls: 1", "requires: [to]", ["tool.reply may be called without max_calls: 1"]],
      ["requires: [to]", "requires: trusted  approval: required", []],
      ["{ requires: none }", "{ requires: none  gives: trusted }", []],
      ["model_calls: 20", "model_calls: 10", []],
      [
        "enum { refund, answer }",
        "enum { refund, answer, call }",
        [
          "input.mail may choose agent.reader.wants (enum { refund, answer, call })",
          "tool.search may choose agent.reader.wants (enum { refund, answer, call })",
        ],
      ],
      [
        "uses: [tool.search]",
        "uses: [tool.any]",
        [
          "agent.reader may call tool.any",
          "agent.reader reads tool.any",
          "agent.writer reads tool.any",
          "tool.any may choose agent.reader.wants (enum { refund, answer })",
          "tool.any may choose agent.writer.done (boolean)",
          "agent.reader is open",
        ],
      ],
    ]
    const before = reach(source)
    for (const [from, to, grown] of changes) {
      const changed = source.replace(from, to)
      assert.notEqual(changed, source)
      assert.deepEqual(growthOf(before, reach(changed)), grown, to)
    }
  })

  test("words and tables", () => {
    const text = showReach(reach(source))
    assert.match(text, /^Hosts\n {2}eu\.example\.com \(provider\.eu\) is called\n/)
    assert.match(text, /agent\.writer may call tool\.reply \(requires: \[to\]; guarded by bound: to, max_calls: 1\)/)
    const table = reachAsMarkdown("a.wire", reach(source))
    assert.match(table, /^## What `a\.wire` can reach\n\n### Agents\n\n\| agent \|/)
    assert.match(table, /\| 🟡 `agent\.writer` \| guarded \|/)
  })
})
