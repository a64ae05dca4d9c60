import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { modelAdaptations } from "../base/limits.ts"
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
    assert.deepEqual(agents, [
      { agent: "read.wire#agent.reader", pattern: "quarantined", reads: ["input.mail"], cacheable: null },
    ])
    assert.deepEqual(
      decisions.map(({ value, leads_to }) => [value, leads_to]),
      [["read.wire#agent.reader.urgent", ["output"]]],
    )
  })

  describe("of a called file", () => {
    const backends = `provider p from openai { endpoint: "demo" }
      model m from p { id: "m"  price { input: 1  output: 1 }  inference { max_retries: 0  output_retries: 0 } }
      mcp t { endpoint: "demo" }
      tool go from mcp.t.tool.go { requires: none }
      tool refund from mcp.t.tool.refund { requires: trusted }\n`
    const pin = `input { who: string }
      agent pick { model: model.m  instruction: input.who  output { k: enum { a, b } } }
      output { k: agent.pick.k }`
    const reached = (main: string, modules: Readonly<Record<string, string>>): Reach => {
      const files = Object.entries(modules).map(([path, text]) => [path, `${backends}${text}`])
      const { program, diagnostics } = compile(`${backends}${main}`, { modules: Object.fromEntries(files) })
      assert.deepEqual(
        diagnostics.filter(({ severity }) => severity === "error"),
        [],
      )
      return reachOf(program)
    }

    test("its sources have the names of their files, once, whoever calls it", () => {
      const modules = {
        "deep.wire": `input { d: untrusted string  e: string }
          agent deep { model: model.m  instruction: "{{ input.d }} {{ input.e }}"  uses: [tool.go]  output { x: string } }
          output { x: agent.deep.x }`,
        "w.wire": `workflow deep from "./deep.wire"
          input { o: untrusted string  p: string }
          agent a { model: model.m  instruction: "{{ input.o }} {{ input.p }}"  uses: [tool.go]  output { t: boolean } }
          dynamic { d: call workflow.deep { input { d: "x"  e: input.o } } }
          agent b { model: model.m  instruction: dynamic.d.x  output { t: string } }
          output { t: agent.a.t }`,
      }
      const own = ["w.wire#input.o", "w.wire#tool.go"]
      const deep = ["deep.wire#input.d", "deep.wire#tool.go", "w.wire#input.o"]
      const called = reached(
        `workflow w from "./w.wire"
        input { mail: untrusted string }
        output { x: call workflow.w { input { o: "x"  p: input.mail } } }`,
        modules,
      )
      const reads = called.agents.map(({ agent, reads: sources }) => [agent, sources])
      assert.deepEqual(reads, [
        ["deep.wire#agent.deep", deep],
        ["w.wire#agent.a", ["input.mail", ...own]],
        ["w.wire#agent.b", deep],
      ])
      assert.deepEqual(
        called.decisions.map(({ value, sources }) => [value, sources]),
        [["w.wire#agent.a.t", ["input.mail", ...own]]],
      )
      const used = reached(
        `workflow w from "./w.wire"
        agent clerk { model: model.m  instruction: "x"  uses: [workflow.w { max_calls: 1 }]  output { t: string } }
        output { t: agent.clerk.t }`,
        modules,
      )
      const [clerk] = used.agents
      const all = ["deep.wire#input.d", "deep.wire#tool.go", ...own]
      assert.deepEqual([clerk?.agent, clerk?.reads], ["agent.clerk", all])
      assert.deepEqual(used.agents.find(({ agent }) => agent === "w.wire#agent.a")?.reads, all)
    })

    test("what strangers decide in it leads to the steps that read what it gives", () => {
      const leads = (main: string, modules: Readonly<Record<string, string>> = {}): readonly string[] | undefined => {
        const head = `workflow pin from "./pin.wire"\ninput { mail: untrusted string }\n`
        return reached(`${head}${main}`, { "pin.wire": pin, ...modules }).decisions[0]?.leads_to
      }
      const call = "call workflow.pin { input { who: input.mail } }"
      const refund = `call tool.refund { input { q: "all" } }`
      assert.deepEqual(
        leads(`dynamic { k: ${call}  r: match dynamic.k.k { a: ${refund} _ null } } output { r: dynamic.r }`),
        ["dynamic.r"],
      )
      assert.deepEqual(leads(`dynamic { k: ${call} } output { x: 1 }`), ["dynamic.k"])
      assert.deepEqual(leads(`dynamic { k: match (${call}).k { a: ${refund} _ null } } output { x: dynamic.k }`), [
        "dynamic.k",
      ])
      assert.deepEqual(
        leads(
          `workflow over from "./over.wire"
          dynamic { k: call workflow.over { input { who: input.mail } } }
          output { r: match dynamic.k.k { a: ${refund} _ null } }`,
          {
            "over.wire": `workflow pin from "./pin.wire"
              input { who: string }
              dynamic { k: call workflow.pin { input { who: input.who } } }
              output { k: dynamic.k.k }`,
          },
        ),
        ["output"],
      )
    })

    test("the most that it can use counts for each call", () => {
      const most = (main: string, file = pin): Reach["most"] => {
        return reached(`workflow pin from "./pin.wire"\ninput { mail: string  all: [string] }\n${main}`, {
          "pin.wire": file,
        }).most
      }
      const call = "call workflow.pin { input { who: input.mail } }"
      const one = 1 + modelAdaptations
      const none = most("output { x: 1 }")
      assert.deepEqual(
        Object.values(none).map((bound) => bound.most),
        [0, 0, 0, 0],
      )
      const twice = most(`output { x: ${call}  y: ${call} }`)
      assert.deepEqual(twice.model_calls, { most: 2 * one, by: "pin.wire: steps, models and retries" })
      assert.equal(twice.tool_calls.most, 0)
      assert.deepEqual(twice.cost, {
        most: "unbounded",
        because: "in pin.wire, neither the run nor agent.pick has `limits { cost: … }`",
      })
      const limited = most(
        `output { x: ${call}  y: ${call}  z: ${call} }`,
        `${pin} limits { cost: 0.1  model_calls: 4 }`,
      )
      assert.deepEqual(limited.cost, { most: 0.3, by: "pin.wire: limits.cost" })
      assert.equal(limited.model_calls.most, 12)
      const rounds = most(
        `output { x: repeat workflow.pin { input { who: input.mail }  until: result.k == "a"  next { who: "x" }  at_most: 5 } }`,
      )
      assert.equal(rounds.model_calls.most, 5 * one)
      const each = most(`output { x: [call workflow.pin { input { who: one } } for one in input.all] }`)
      assert.deepEqual(each.model_calls, {
        most: "unbounded",
        because: "output calls workflow.pin for each item of a list",
      })
      assert.equal(each.tool_calls.most, 0)
      const used = (more: string): Reach["most"] =>
        most(
          `agent clerk { model: model.m  instruction: "x"  max_steps: 3  uses: [workflow.pin${more}]  output { t: string } } output { t: agent.clerk.t }`,
        )
      assert.equal(used(" { max_calls: 4 }").model_calls.most, 4 * (3 + modelAdaptations) + 4 * one)
      assert.deepEqual(used("").model_calls, {
        most: "unbounded",
        because: "agent.clerk may use workflow.pin without `max_calls`",
      })
      assert.equal(used("").tool_calls.most, 0)
    })
  })

  test("providers and apis that no step calls are left out; MCP servers are connected to when a run begins", () => {
    const found = reach(`secrets { key: string }
      provider used from openai { endpoint: "https://used.example.com/v1" }
      provider other from openai { endpoint: "https://other.example.com/v1"  api_key: secrets.key }
      model m from used { id: "x" }
      model n from other { id: "x" }
      mcp s { endpoint: "https://s.example.com/mcp"  headers { Authorization: "Bearer {{ secrets.key }}" } }
      tool act from mcp.s.tool.act
      mcp t { endpoint: "https://t.example.com/mcp"  auth { token_endpoint: "https://id.example.com/token"  client_id: "x"  client_secret: secrets.key } }
      api c { endpoint: "https://c.example.com/mcp"  headers { Authorization: "Bearer {{ secrets.key }}" } }
      agent a { model: model.m  instruction: "x"  output { t: string } }
      output { t: agent.a.t }`)
    assert.deepEqual(
      found.hosts.map(({ host, secrets }) => [host, secrets]),
      [
        ["id.example.com", ["secrets.key"]],
        ["s.example.com", ["secrets.key"]],
        ["t.example.com", []],
        ["used.example.com", []],
      ],
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
    const turn = 2 + modelAdaptations
    assert.equal(reach(agent("", "model: model.m")).most.model_calls.most, turn)
    assert.equal(reach(agent("", "model: [model.m, model.n]")).most.model_calls.most, 2 * turn)
    // Three turns with tools and one for the output alone; in each of them an answer more without tools, and one without a stream.
    const used = `mcp s { endpoint: "demo" } tool t from mcp.s.tool.t\n${agent("", "model: model.m uses: [tool.t] max_steps: 3")}`
    assert.equal(reach(used).most.model_calls.most, 4 * (3 * 2 + modelAdaptations))
    // Each model of a compaction is tried again as often as any other.
    const compacted = `${agent("", "model: model.m")}
      agent b { model: model.m instruction: "x" output { t: string } context: compact agent.a { model: [model.m, model.n] } }`
    assert.equal(reach(compacted).most.model_calls.most, turn + turn + 2 * turn)
    assert.equal(reach(agent("for i in input.items", "model: model.m")).most.model_calls.most, "unbounded")
    assert.equal(
      reach(agent("for i in input.items", "model: model.m limits { model_calls: 3 }")).most.model_calls.most,
      3,
    )
  })

  test("`max_calls` of a use counts for each item of a loop, that of an import for all of them", () => {
    const most = (tool: string, loop: string, use: string, more = ""): unknown => {
      const found = reach(`input { items: [string] }
        provider p from openai { }
        model m from p { id: "x" }
        mcp s { endpoint: "demo" }
        tool t from mcp.s.tool.t { ${tool} }
        agent a ${loop} { model: model.m  uses: [tool.t ${use}]  instruction: "x"  output { t: string } }
        output { t: agent.a ${more} }`)
      return found.most.tool_calls.most
    }
    assert.equal(most("", "", "{ max_calls: 2 }"), 2)
    assert.equal(most("max_calls: 5", "", "{ max_calls: 2 }"), 2)
    assert.equal(most("", "for i in input.items", "{ max_calls: 2 }"), "unbounded")
    assert.equal(most("max_calls: 5", "for i in input.items", "{ max_calls: 2 }"), 5)
    assert.equal(most("", "", "{ max_calls: 2 }", "u: [call tool.t { max_calls: 4 } for i in input.items]"), 6)
  })

  test("a model's id and system text are sent to its provider", () => {
    const [host] = reach(`input { id: string  who: string  other: string }
      provider p from openai { endpoint: "https://p.example.com/v1" }
      model m from p { id: input.id  system: "You are {{ input.who }}." }
      agent a { model: model.m  instruction: "x"  output { t: string } }
      output { t: agent.a.t  o: input.other }`).hosts
    assert.deepEqual(host?.inputs, ["input.id", "input.who"])
  })

  describe("decisions", () => {
    const decided = (output: string, more = ""): Reach => {
      return reach(`input { mail: untrusted string }
        ${more}
        provider p from openai { }
        model m from p { id: "x" }
        agent a { model: model.m  instruction: input.mail  output { ${output} } }
        output { t: agent.a }`)
    }
    const shown = (found: Reach): string[] => found.decisions.map(({ value, type }) => `${value} ${type}`)

    test("cases of variants, members of tuples, elements of arrays, and what may be null", () => {
      const output = `v: variant kind { one { ok: boolean, text: string } two { } }
        t: (boolean, string)
        l: [{ ok: boolean, text: string }; 2]
        m: maybe { ok: boolean, text: string }
        s: maybe string`
      assert.deepEqual(shown(decided(output)), [
        "agent.a.l[].ok boolean",
        "agent.a.m null or not",
        "agent.a.m.ok boolean",
        "agent.a.s null or not",
        "agent.a.t[0] boolean",
        "agent.a.v#one.ok boolean",
        "agent.a.v.kind enum { one, two }",
      ])
    })

    test("an enum of a named schema has its values, and one more of them is growth", () => {
      const schema = (values: string): string => `schema order { item: { size: enum { ${values} } }  note: string }`
      const before = decided("order: schema.order  size: schema.order.item.size", schema("small, large"))
      assert.deepEqual(shown(before), [
        "agent.a.order.item { size: enum { small, large } }",
        "agent.a.size enum { small, large }",
      ])
      const after = decided("order: schema.order  size: schema.order.item.size", schema("small, large, huge"))
      assert.equal(growthOf(before, after).length, 2)
      assert.deepEqual(growthOf(decided("size: enum { a, b, c }"), decided("size: enum { c, a }")), [])
      const letters = "a b c d e f g h i j k l m n o p q r s t u v w x y".split(" ")
      const many = decided(`size: enum { ${letters.join(", ")} }`)
      assert.equal(growthOf(many, decided(`size: enum { ${[...letters, "z"].join(", ")} }`)).length, 1)
    })
  })

  test("a guard of the tool holds for every caller; each caller has its own; a call in a list has no bound, and secrets of bindings are sent", () => {
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
    assert.deepEqual(found.tools[0]?.guards, ["max_calls: 2"])
    assert.deepEqual(found.tools[0]?.per_caller, [
      { caller: "agent.a", guards: ["approval", "max_calls: 2"] },
      { caller: "agent.b", guards: ["limits: 3 tool calls", "max_calls: 2", "trust"] },
    ])
    assert.match(
      showReach(found),
      /agent\.a may call tool\.act \(requires: trusted; guarded by approval, max_calls: 2\)/,
    )
    assert.match(reachAsMarkdown("a.wire", found), /\| trusted \| `agent\.a` \| approval, max_calls: 2 \|/)
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

  test("approval in place of trust is no growth, for one caller neither", () => {
    const two = `input { a: string }
      provider p from openai { }
      model m from p { id: "x" }
      mcp s { endpoint: "demo" }
      tool act from mcp.s.tool.act { requires: trusted }
      agent g { model: model.m  instruction: "{{ input.a }}"  uses: [tool.act { max_calls: 2 }]  output { t: string } }
      agent h { model: model.m  instruction: "{{ input.a }}"  uses: [tool.act { max_calls: 1 }]  output { t: string } }
      output { t: agent.g.t }`
    const approved = two.replace("max_calls: 2", "max_calls: 2  approval: required")
    assert.deepEqual(growthOf(reach(two), reach(approved)), [])
    const more = approved.replace("max_calls: 2", "max_calls: 3")
    assert.deepEqual(growthOf(reach(approved), reach(more)).slice(0, 1), [
      "tool.act may be called without max_calls: 2",
    ])
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

  test("tools that a provider hosts reach anybody; what they find is strangers' words", () => {
    const { hosts, agents, most, ways } = reach(`
input { topic: string  name: private string }
provider p from openai { endpoint: "https://p.example.com/v1"  cleared: private }
model m from p { id: "m" }
agent plain { model: model.m  instruction: "{{ input.name }}"  output { text: string } }
agent search { model: model.m  hosted_tools: [{ type: "web_search" }]  instruction: "{{ input.topic }}"  output { text: string  ok: boolean } }
output { plain: agent.plain.text  text: agent.search.text }
`)
    assert.deepEqual(hosts, [
      { host: "*", backend: "provider.p", inputs: ["input.topic"], secrets: [], private: false },
      {
        host: "p.example.com",
        backend: "provider.p",
        inputs: ["input.name", "input.topic"],
        secrets: [],
        private: true,
      },
    ])
    assert.deepEqual(
      agents.map(({ agent, pattern, reads }) => [agent, pattern, reads]),
      [
        ["agent.plain", "plain", []],
        ["agent.search", "quarantined", ["agent.search.hosted_tools"]],
      ],
    )
    assert.ok(ways.some(({ from, to, untrusted }) => from === "agent.search" && to === "output" && untrusted))
    assert.equal(most.tool_calls.most, "unbounded")
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

test("the share of an agent's literal text that stays the same is told", () => {
  const of = (loop: string, written: string): number | null | undefined =>
    reach(`provider p from openai { endpoint: "demo" } model m from p { id: "demo" }
input { items: [string]  guide: string }
agent a ${loop} { model: model.m ${written} output { t: string } }`).agents[0]?.cacheable
  const loop = "for item in input.items"
  assert.equal(of(loop, 'instruction: "1234567890{{ item }}1234567890"'), 0.5)
  assert.equal(of(loop, 'instruction: "1234567890{{ input.guide }}1234567890"'), 1)
  assert.equal(of("", 'instruction: "12{{ input.guide }}1234567890"'), 0.17)
  assert.equal(of(loop, 'system: "12345{{ item }}"  instruction: "12345"'), 0.5)
  assert.equal(of(loop, 'messages: [{ role: "user", content: item }]  instruction: "12345"'), 0)
  assert.equal(of(loop, 'instruction: "{{ item }}"'), null)
})
