import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { compile } from "../compile.ts"
import { atStrength } from "../../test/support/strength.ts"

const head = `
input {
    mail: untrusted string
    mails: [untrusted string]
    orders: [{ id: string, note: untrusted string }]
    customer: private { name: string, iban: string }
    shop: string
    go: boolean
    next: maybe schema.node
}

schema node { text: untrusted string  flag: boolean  next: maybe schema.node }

secrets { key: string }

provider any from openai { api_key: secrets.key }
provider eu from openai { endpoint: "https://eu.example.com/v1"  api_key: secrets.key  cleared: private }
model fast from any { id: "m" }
model safe from eu { id: "m" }

mcp shop { endpoint: "https://shop.example.com/mcp" }
mcp web { endpoint: "https://web.example.com/mcp"  gives: trusted }

tool find from mcp.shop.tool.find { gives: private  requires: none }
tool echo from mcp.web.tool.echo { requires: none }
tool search from mcp.shop.tool.search { requires: none }
tool refund from mcp.shop.tool.refund { requires: trusted  cleared: private }
tool reply from mcp.shop.tool.reply { requires: [to]  cleared: private }
tool careful from mcp.shop.tool.careful { requires: trusted  cleared: private  approval: required }
tool post from mcp.web.tool.post { requires: none }
tool plain from mcp.shop.tool.plain { cleared: private }
prompt greet from mcp.shop.prompt.greet
resource page from mcp.shop.resource.page
`

/** `code path: way` of each finding, in the order of the source; those that only tell what is unused are left out. */
function findings(source: string): string[] {
  const { diagnostics } = compile(`${head}${source}`)
  return diagnostics
    .filter(({ code }) => code !== "unused-declaration" && code !== "missing-output")
    .map(({ code, path, hint, message }) => {
      const [way = ""] = hint?.split("\n") ?? []
      const isTrust = code === "untrusted-action" || code === "private-leak"
      return isTrust ? `${code} ${path}: ${way}` : `${code} ${path}${code.includes("-e") ? "" : `: ${message}`}`
    })
}

interface AgentText {
  readonly model?: string
  readonly instruction?: string
  readonly output?: string
  readonly more?: string
  readonly head?: string
}

function agent(name: string, text: AgentText): string {
  const { model = "safe", instruction = "Go.", output = "text: string", more = "" } = text
  return `agent ${name} ${text.head ?? ""} { model: model.${model}  instruction: "${instruction}"  output { ${output} }\n${more} }\n`
}

const reader = agent("reader", { instruction: "{{ input.mail }}", output: "text: string  ok: boolean  n: integer" })

const rows: Record<string, { source: string; found?: string[] }> = {
  "an agent that reads strangers' words and uses what acts": {
    source: agent("clerk", { instruction: "{{ input.mail }}", more: "uses: [tool.refund]" }),
    found: ["untrusted-action agent.clerk.uses.refund: input.mail → agent.clerk.instruction → tool.refund"],
  },
  "the same with approval, of the use or of the import": {
    source: agent("clerk", {
      instruction: "{{ input.mail }}",
      more: "uses: [tool.refund { approval: required }, tool.careful]",
    }),
  },
  "an agent that reads trusted values alone": {
    source: agent("clerk", { instruction: "{{ input.shop }}", more: "uses: [tool.refund, tool.reply]" }),
  },
  "a result of another tool is read, too": {
    source: agent("clerk", { more: "uses: [tool.search, tool.refund]" }),
    found: ["untrusted-action agent.clerk.uses.refund: tool.search → agent.clerk.uses → tool.refund"],
  },
  "a server says what its tools give, a tool that says something itself replaces it": {
    source: agent("clerk", { more: "uses: [tool.echo, tool.refund]" }),
  },
  "arguments that are bound need no trust of the agent": {
    source: agent("clerk", {
      instruction: "{{ input.mail }}",
      more: "uses: [tool.reply { bindings { to: input.shop } }]",
    }),
  },
  "arguments that are not bound do": {
    source: agent("clerk", { instruction: "{{ input.mail }}", more: "uses: [tool.reply]" }),
    found: ["untrusted-action agent.clerk.uses.reply: input.mail → agent.clerk.instruction → tool.reply"],
  },
  "a binding with strangers' words": {
    source: agent("clerk", { more: "uses: [tool.reply { bindings { to: input.mail } }]" }),
    found: ["untrusted-action agent.clerk.uses.reply: input.mail → tool.reply"].flatMap((one) => [one]),
  },
  "strings and numbers of an agent keep the label, booleans do not": {
    source: `${reader}dynamic {
      a: call tool.refund { input { x: agent.reader.text } }
      b: call tool.refund { input { x: agent.reader.n } }
      c: call tool.refund { input { x: agent.reader.ok } }
    }`,
    found: [
      "untrusted-action dynamic.a: input.mail → agent.reader.instruction → tool.refund",
      "untrusted-action dynamic.b: input.mail → agent.reader.instruction → tool.refund",
    ],
  },
  "a closed value may decide, an open one may not": {
    source: `${reader}${agent("one", { head: "when agent.reader.ok", more: "uses: [tool.refund]" })}${agent("two", { head: "when agent.reader.n > 3", more: "uses: [tool.refund]" })}`,
    found: [
      "untrusted-action agent.two.uses.refund: input.mail → agent.reader.instruction → agent.two.when → tool.refund",
    ],
  },
  "closed values that strangers chose do not satisfy what is strict": {
    source: `tool pay from mcp.shop.tool.pay { requires: strict  cleared: private }
${reader}${agent("again", { instruction: "{{ agent.reader.ok }}", output: "text: string" })}
      ${agent("uses_it", { instruction: "{{ agent.reader.ok }}", more: "uses: [tool.pay]" })}
      ${agent("decided", { head: "when agent.reader.ok", more: "uses: [tool.pay]" })}
      ${agent("plain", { instruction: "{{ input.shop }}", more: "uses: [tool.pay, tool.refund]" })}
      dynamic {
        a: call tool.pay { input { x: agent.reader.ok } }
        b: match agent.reader.ok { true: call tool.pay { input { x: 1 } }  false: null }
        c: call tool.pay { input { x: agent.again.text } }
        d: call tool.pay { input { x: agent.reader.ok }  approval: required }
        e: call tool.pay { input { x: trust agent.reader.ok because "a person looked" } }
        f: call tool.refund { input { x: agent.again.text } }
        g: call tool.pay { input { x: input.mail } }
        h: call tool.pay { input { x: input.shop } }
      }`,
    found: [
      "untrusted-action agent.uses_it.uses.pay: input.mail → agent.reader.instruction → agent.uses_it.instruction → tool.pay",
      "untrusted-action agent.decided.uses.pay: input.mail → agent.reader.instruction → agent.decided.when → tool.pay",
      "untrusted-action dynamic.a: input.mail → agent.reader.instruction → tool.pay",
      "untrusted-action dynamic.b: input.mail → agent.reader.instruction → tool.pay",
      "untrusted-action dynamic.c: input.mail → agent.reader.instruction → agent.again.instruction → tool.pay",
      "untrusted-action dynamic.g: input.mail → tool.pay",
    ],
  },
  "for named arguments it does not matter who decides": {
    source: `${agent("one", { head: 'when input.mail contains "x"', more: "uses: [tool.reply { bindings { to: input.shop } }]" })}`,
  },
  "match, && and ?? decide": {
    source: `${reader}dynamic {
      a: match agent.reader.ok { true: call tool.refund { input { x: 1 } }  false: null }
      b: match agent.reader.text == "x" { true: call tool.refund { input { x: 1 } }  false: null }
      c: input.next?.text ?? call tool.refund { input { x: 1 } }
    }`,
    found: [
      "untrusted-action dynamic.b: input.mail → agent.reader.instruction → tool.refund",
      "untrusted-action dynamic.c: input.next.text → tool.refund",
    ],
  },
  "labels are kept path by path": {
    source: `dynamic {
      o: { a: input.mail, b: 1 }
      x: call tool.refund { input { x: dynamic.o.b } }
      y: call tool.refund { input { x: dynamic.o.a } }
      z: call tool.refund { input { x: dynamic.o } }
      ids: call tool.refund { input { x: input.orders.*.id } }
      notes: call tool.refund { input { x: input.orders.*.note } }
    }`,
    found: [
      "untrusted-action dynamic.y: input.mail → dynamic.o → tool.refund",
      "untrusted-action dynamic.z: input.mail → dynamic.o → tool.refund",
      "untrusted-action dynamic.notes: input.orders.*.note → tool.refund",
    ],
  },
  "schemas that contain themselves": {
    source: `dynamic {
      x: call tool.refund { input { x: input.next?.next?.next?.flag } }
      y: call tool.refund { input { x: input.next?.next?.next?.text } }
    }`,
    found: ["untrusted-action dynamic.y: input.next.next.next.text → tool.refund"],
  },
  "a list of untrusted elements has a trusted length": {
    source: `${agent("each", { head: "for m in input.mails", instruction: "Go on.", more: "uses: [tool.refund]" })}${agent("read", { head: "for m in input.mails", instruction: "{{ m }}", more: "uses: [tool.refund]" })}`,
    found: ["untrusted-action agent.read.uses.refund: input.mails.* → agent.read.instruction → tool.refund"],
  },
  "the array of a looped agent keeps the label, an element of a closed type does not": {
    source: `${agent("sort", { head: "for m in input.mails", instruction: "{{ m }}", output: "ok: boolean" })}
      dynamic {
        all: call tool.refund { input { x: agent.sort.*.ok } }
        one: call tool.refund { input { x: agent.sort[0]?.ok } }
      }`,
    found: [
      "untrusted-action dynamic.all: input.mails.* → agent.sort.instruction → all items of agent.sort → tool.refund",
    ],
  },
  "lists from lists": {
    source: `dynamic {
      ids: call tool.refund { input { x: [o.id for o in input.orders] } }
      some: call tool.refund { input { x: [o.id for o in input.orders when o.note == "x"] } }
      sorted: call tool.refund { input { x: [o.id for o in input.orders by o.note] } }
    }`,
    found: [
      "untrusted-action dynamic.some: input.orders.*.note → tool.refund",
      "untrusted-action dynamic.sorted: input.orders.*.note → tool.refund",
    ],
  },
  "a step that may have failed because of what it read": {
    source: `${agent("maybe_fails", { instruction: "{{ input.mail }}", output: "ok: boolean", more: "on_failure: skip" })}dynamic {
      x: call tool.refund { input { x: agent.maybe_fails?.ok } }
    }`,
    found: [
      "untrusted-action dynamic.x: input.mail → agent.maybe_fails.instruction → agent.maybe_fails, which may fail → tool.refund",
    ],
  },
  "a conversation that is continued": {
    source: `${reader}${agent("next", { more: "context: agent.reader\nuses: [tool.refund]" })}`,
    found: [
      "untrusted-action agent.next.uses.refund: input.mail → agent.reader.instruction → agent.next.context → tool.refund",
    ],
  },
  "a tool's result has the labels of its arguments": {
    source: `dynamic {
      x: call tool.echo { input { x: input.mail } }
      y: call tool.echo { input { x: input.shop } }
      a: call tool.refund { input { x: dynamic.x } }
      b: call tool.refund { input { x: dynamic.y } }
    }`,
    found: ["untrusted-action dynamic.a: input.mail → dynamic.x → tool.refund"],
  },
  "an answer of a person is trusted, what expires is what it was": {
    source: `
      ask one { question: "{{ input.mail }}"  output { text: string } }
      ask two { question: "?"  output { text: string }  on_expiry: { text: input.mail } }
      dynamic {
        a: call tool.refund { input { x: ask.one.text } }
        b: call tool.refund { input { x: ask.two.text } }
      }`,
    found: ["untrusted-action dynamic.b: input.mail → ask.two.on_expiry → tool.refund"],
  },
  "who is asked": {
    source: `ask one { question: "?"  output { ok: boolean }  to: input.mail }`,
    found: ["untrusted-action ask.one.to: input.mail → ask.one.to"],
  },
  "where calls go": {
    source: `provider odd from openai { endpoint: "https://{{ input.mail }}/v1"  headers { X: input.customer.name }  api_key: input.mail } model odd from odd { id: input.mail }`,
    found: [
      "untrusted-action provider.odd.endpoint: input.mail → provider.odd.endpoint",
      "private-leak provider.odd.headers.X: input.customer → provider.odd.headers.X",
      "untrusted-action provider.odd.api_key: input.mail → provider.odd.api_key",
      "untrusted-action model.odd.id: input.mail → model.odd.id",
    ],
  },
  exceptions: {
    source: `${reader}dynamic {
      x: call tool.refund { input { x: trust agent.reader.text because "read by us" } }
      y: call tool.refund { input { x: trust (agent.reader.n + 1) because "read by us" } }
      z: trust agent.reader.ok because "it is a boolean"
      w: trust input.shop because "callers are ours"
    }`,
    found: ["needless-exception dynamic.z"],
  },
  "private data and models": {
    source: `${agent("a", { model: "fast", instruction: "{{ input.customer.name }}" })}${agent("b", { instruction: "{{ input.customer.name }}" })}`,
    found: ["private-leak agent.a.instruction: input.customer → agent.a.instruction → model.fast"],
  },
  "every model of a list": {
    source: `agent a { model: [model.safe, model.fast]  instruction: "{{ input.customer }}"  output { ok: boolean } }`,
    found: ["private-leak agent.a.instruction: input.customer → agent.a.instruction → model.fast"],
  },
  "private data stays private whatever the type, and a server may have back what it gave": {
    source: `dynamic { found: call tool.find { input { q: input.shop } } }
      ${agent("a", { instruction: "{{ dynamic.found }}", output: "ok: boolean" })}
      dynamic {
        back: call tool.search { input { x: agent.a.ok } }
        away: call tool.post { input { x: agent.a.ok } }
        own: call tool.search { input { x: input.customer.iban } }
        freed: call tool.post { input { x: release agent.a.ok because "one bit" } }
      }`,
    found: [
      "private-leak dynamic.away: tool.find → dynamic.found → agent.a.instruction → tool.post",
      "private-leak dynamic.own: input.customer → tool.search",
    ],
  },
  "private data decides": {
    source: `${agent("a", { model: "fast", head: 'when input.customer.name == "x"' })}dynamic {
      x: match input.customer.name == "x" { true: call tool.post { input { x: 1 } }  false: null }
    }`,
    found: [
      "private-leak agent.a.when: input.customer → agent.a.when → model.fast",
      "private-leak dynamic.x: input.customer → tool.post",
    ],
  },
  "an agent that reads private data uses what is not cleared": {
    source: agent("a", { instruction: "{{ input.customer }}", more: "uses: [tool.post, tool.refund, prompt.greet]" }),
    found: ["private-leak agent.a.uses.post: input.customer → agent.a.instruction → tool.post"],
  },
  "questions to a group, questions to the caller": {
    source: `
      ask one { question: "?"  show: input.customer  output { ok: boolean }  to: "desk" }
      ask two { question: "?"  show: input.customer  output { ok: boolean }  to: "desk"  cleared: private }
      ask three { question: "{{ input.customer }}"  output { ok: boolean } }`,
    found: ["private-leak ask.one.show: input.customer → ask.one"],
  },
  "a group that approves sees the arguments": {
    source: `dynamic {
      x: call tool.refund { input { x: input.customer.iban }  approval { to: "desk" } }
      y: call tool.refund { input { x: input.customer.iban }  approval { to: "desk"  cleared: private } }
    }`,
    found: ["private-leak dynamic.x: input.customer → an approval"],
  },
  "a group that approves sees the question and what is shown": {
    source: `tool pay from mcp.shop.tool.pay { requires: none  cleared: private  approval { question: "{{ input.customer.iban }}?" } }
    dynamic {
      x: call tool.refund { input { x: 1 }  approval { to: "desk"  show: input.customer.iban } }
      y: call tool.refund { input { x: 1 }  approval { to: "desk"  show: input.customer.iban  cleared: private } }
      z: call tool.refund { input { x: 1 }  approval { question: input.customer.iban } }
      u: call tool.pay { input { x: 1 }  approval { to: "desk" } }
    }
    ${agent("d", { more: 'uses: [tool.careful { approval { to: "desk"  question: input.customer.iban } }]' })}`,
    found: [
      "private-leak dynamic.x: input.customer → dynamic.x.approval.show → an approval",
      "private-leak dynamic.u: input.customer → tool.pay.approval.question → an approval",
      "private-leak agent.d.uses.careful: input.customer → agent.d.uses.careful.approval.question → an approval",
    ],
  },
  "what an answer begins with, and when its question ends": {
    source: `
      ask one { question: "?"  prefill: { text: input.mail }  output { text: string  other: string } }
      ask two { question: "?"  expires_seconds: length(input.mail)  on_expiry: { text: "none" }  output { text: string } }
      ask three { question: "?"  prefill: { text: input.customer.iban }  output { text: string }  to: "desk" }
      dynamic {
        a: call tool.refund { input { x: ask.one.text } }
        b: call tool.refund { input { x: ask.one.other } }
        c: call tool.refund { input { x: ask.two.text } }
        d: call tool.post { input { x: ask.three.text } }
      }`,
    found: [
      "private-leak ask.three.prefill: input.customer → ask.three.prefill → ask.three",
      "untrusted-action dynamic.a: input.mail → ask.one.prefill → tool.refund",
      "untrusted-action dynamic.c: input.mail → ask.two.expires_seconds → tool.refund",
      "private-leak dynamic.d: input.customer → ask.three.prefill → tool.post",
    ],
  },
  "a tool that says nothing of its effects": {
    source: agent("a", { instruction: "{{ input.mail }}", more: "uses: [tool.plain]" }),
    found: ["undeclared-effect agent.a.uses.plain"],
  },
  "functions have the labels of their arguments": {
    source: `${reader}dynamic {
      a: call tool.refund { input { x: upper(trim(input.shop)) } }
      b: call tool.refund { input { x: upper(trim(input.mail)) } }
      c: call tool.refund { input { x: length(input.mail) } }
      d: call tool.refund { input { x: length(input.mails) } }
      e: call tool.refund { input { x: at(input.orders.*.id, length(input.mail)) } }
      f: call tool.refund { input { x: join(lines(input.shop), agent.reader.text) } }
      g: call tool.refund { input { x: any([agent.reader.ok, input.go]) } }
    }`,
    found: [
      "untrusted-action dynamic.b: input.mail → tool.refund",
      "untrusted-action dynamic.c: input.mail → tool.refund",
      "untrusted-action dynamic.e: input.mail → tool.refund",
      "untrusted-action dynamic.f: input.mail → agent.reader.instruction → tool.refund",
    ],
  },
  "a function makes nothing closed": {
    source: `dynamic {
      a: call tool.refund { input { x: starts_with(input.mail, "x") } }
      b: match starts_with(input.mail, "x") { true: call tool.refund { input { x: 1 } }  false: null }
      c: call tool.refund { input { x: number(input.mail) ?? 0 } }
      d: call tool.refund { input { x: range(length(input.mail)) } }
    }`,
    found: ["a", "b", "c", "d"].map((name) => `untrusted-action dynamic.${name}: input.mail → tool.refund`),
  },
  "a list decides how often, and its condition whether": {
    source: `${reader}dynamic {
      a: [call tool.refund { input { x: o.id } } for o in input.orders]
      b: [call tool.refund { input { x: o.id } } for o in input.orders when o.note == "x"]
      c: [call tool.refund { input { x: o.id } } for o in input.orders when agent.reader.ok]
      d: [call tool.refund { input { x: line } } for line in lines(input.mail)]
      e: [call tool.refund { input { x: 1 } } for line in lines(input.mail)]
      f: [[call tool.refund { input { x: o.note } } for o in input.orders] for m in input.mails]
      g: [call tool.refund { input { x: 1 }  approval: required } for line in lines(input.mail)]
      h: [call tool.reply { input { to: o.id } } for o in input.orders when o.note == "x"]
    }`,
    found: [
      "untrusted-action dynamic.b: input.orders.*.note → tool.refund",
      "untrusted-action dynamic.d: input.mail → tool.refund",
      "untrusted-action dynamic.e: input.mail → tool.refund",
      "untrusted-action dynamic.f: input.orders.*.note → tool.refund",
    ],
  },
  "many closed values together are as good as words": {
    source: `${agent("sort", { head: "for m in input.mails", instruction: "{{ m }}", output: "ok: boolean" })}
      ${agent("say", { head: "for s in agent.sort", instruction: "{{ s.ok }}" })}
      ${agent("flags", { instruction: "{{ input.mail }}", output: "all: [boolean; 40]  few: [boolean; 4]" })}
      ${agent("act", { head: "for s in agent.sort when s.ok", more: "uses: [tool.refund]" })}
      dynamic {
        one: call tool.refund { input { x: agent.flags.all[3] } }
        few: call tool.refund { input { x: [f for f in agent.flags.few when f] } }
        all: call tool.refund { input { x: agent.flags.all } }
        list: call tool.refund { input { x: [f for f in agent.flags.all] } }
        count: call tool.refund { input { x: length([s for s in agent.sort when s.ok]) } }
        length: call tool.refund { input { x: length(agent.sort) } }
        said: call tool.refund { input { x: agent.say.*.text } }
        first: call tool.refund { input { x: agent.say[0]?.text } }
        left: call tool.refund { input { x: length(agent.act.**.text) } }
      }`,
    found: [
      "untrusted-action dynamic.one: input.mail → agent.flags.instruction → tool.refund",
      "untrusted-action dynamic.few: input.mail → agent.flags.instruction → tool.refund",
      "untrusted-action dynamic.all: input.mail → agent.flags.instruction → tool.refund",
      "untrusted-action dynamic.list: input.mail → agent.flags.instruction → tool.refund",
      "untrusted-action dynamic.count: input.mails.* → agent.sort.instruction → all items of agent.sort → tool.refund",
      "untrusted-action dynamic.said: input.mails.* → agent.sort.instruction → all items of agent.sort → tool.refund",
      "untrusted-action dynamic.left: input.mails.* → agent.sort.instruction → all items of agent.sort → tool.refund",
    ],
  },
  "the run says nothing of strangers": {
    source: `dynamic { a: call tool.refund { input { x: "{{ run.id }} {{ run.date }}", y: run.started_at } } }`,
  },
  "requirements are read, the result in them is the model's own": {
    source: `${agent("a", { more: 'require length(result.text) < 9 else "Write less than {{ input.shop }}."\nuses: [tool.refund]' })}
      ${agent("b", { more: "require result.text != input.mail\nuses: [tool.refund]" })}
      ${agent("c", { more: 'require length(result.text) < 9 else "{{ input.mail }}"\nuses: [tool.refund]' })}`,
    found: [
      "untrusted-action agent.b.uses.refund: input.mail → agent.b.require → tool.refund",
      "untrusted-action agent.c.uses.refund: input.mail → agent.c.require → tool.refund",
    ],
  },
  "one error for each source": {
    source: `dynamic { a: match input.mail == "x" { true: call tool.refund { input { x: input.mail, y: [input.mail], z: input.next?.text } }  false: null } }
      ${agent("clerk", { head: 'when input.mail == "x"', instruction: "{{ input.mail }}", more: "uses: [tool.refund]" })}`,
    found: [
      "untrusted-action dynamic.a: input.mail → tool.refund",
      "untrusted-action dynamic.a: input.next.text → tool.refund",
      "untrusted-action agent.clerk.uses.refund: input.mail → agent.clerk.when → tool.refund",
    ],
  },
  "a binding of an import counts for each use that does not bind otherwise": {
    source: `tool forward from mcp.shop.tool.forward { requires: [to]  bindings { to: input.mail  who: input.customer.name } }
      ${agent("a", { more: "uses: [tool.forward]" })}
      dynamic {
        b: call tool.forward { bindings { to: input.shop  who: "x" } }
        c: call tool.forward { approval: required  bindings { who: "x" } }
        d: call tool.forward { bindings { who: "x" } }
      }`,
    found: [
      "untrusted-action agent.a.uses.forward: input.mail → tool.forward",
      "private-leak agent.a.uses.forward: input.customer → tool.forward",
      "untrusted-action dynamic.d: input.mail → tool.forward",
    ],
  },
  "the group of an import approves, else that of the use": {
    source: `tool pay from mcp.shop.tool.pay { requires: none  cleared: private  approval { to: "desk" } }
      from mcp.shop { approval { to: input.mail }  tool send { requires: none  cleared: private } }
      dynamic {
        a: call tool.pay { input { x: input.customer.iban }  approval { to: "vault"  cleared: private } }
        b: call tool.pay { input { x: input.shop } }
        c: call tool.send { input { x: input.customer.iban } }
      }
      ${agent("d", { more: "uses: [tool.pay { bindings { x: input.customer.iban } }]" })}`,
    found: [
      "untrusted-action tool.send.approval.to: input.mail → tool.send.approval.to",
      "private-leak dynamic.a: input.customer → an approval",
      "private-leak dynamic.c: input.customer → an approval",
      "private-leak agent.d.uses.pay: input.customer → an approval",
    ],
  },
  "who gives the tokens": {
    source: `mcp crm { endpoint: "https://crm.example.com"  auth { token_endpoint: input.mail  client_id: input.customer.name  client_secret: secrets.key } }`,
    found: [
      "untrusted-action mcp.crm.auth.token_endpoint: input.mail → mcp.crm.auth.token_endpoint",
      "private-leak mcp.crm.auth.client_id: input.customer → mcp.crm.auth.client_id",
    ],
  },
  "whom a server asks": {
    source: `mcp odd { endpoint: "https://odd.example.com"  elicitation { to: input.mail } }
      mcp sales { endpoint: "https://sales.example.com"  elicitation { to: "sales" } }
      mcp clear { endpoint: "https://clear.example.com"  elicitation { to: "sales"  cleared: private } }
      tool sell from mcp.sales.tool.sell { requires: none  cleared: private }
      tool trade from mcp.clear.tool.trade { requires: none  cleared: private }
      dynamic {
        a: call tool.sell { input { x: input.customer.name } }
        b: call tool.trade { input { x: input.customer.name } }
      }`,
    found: [
      "untrusted-action mcp.odd.elicitation.to: input.mail → mcp.odd.elicitation.to",
      "private-leak dynamic.a: input.customer → an elicitation",
    ],
  },
  "the model of a compaction is called when its agent is": {
    source: `${agent("a", {})}${agent("b", { head: 'when input.customer.name == "x"', more: "context: compact agent.a { model: model.fast }" })}`,
    found: ["private-leak agent.b.when: input.customer → agent.b.when → model.fast"],
  },
  "an exception that could help a caller stays": {
    source: `${agent("a", { instruction: "{{ input.shop }}" })}${agent("b", {})}dynamic {
      a: trust agent.a.text because "callers are ours"
      b: trust agent.b.text because "it reads nothing"
      c: release agent.a.text because "callers are ours"
      d: [trust x because "written here" for x in ["a", "b"]]
      e: [trust o.id because "callers are ours" for o in input.orders]
      f: trust run.id because "it is ours"
    }`,
    found: ["needless-exception dynamic.b", "needless-exception dynamic.d", "needless-exception dynamic.f"],
  },
  "a misspelt argument would protect nothing": {
    source: `tool odd from mcp.shop.tool.odd { input { to: string  text: string }  requires: [too] }`,
    found: ["unknown-property tool.odd.requires: tool.odd has no argument too"],
  },
  "contradictions and wrong words": {
    source: `tool odd from mcp.shop.tool.odd { gives: [trusted, untrusted] }`,
    found: ["type-mismatch tool.odd.gives: What it gives is either trusted or untrusted"],
  },
}

describe("what strangers' words and private data reach", () => {
  for (const [name, { source, found = [] }] of Object.entries(rows)) {
    test(name, () => assert.deepEqual(findings(source), found))
  }

  test("a file without words of trust has nothing to say", () => {
    const source = head.replaceAll(/untrusted |private(?= \{)|cleared: private|gives: \w+|requires: (\w+|\[to\])/g, "")
    const { diagnostics } = compile(
      `${source}${agent("clerk", { instruction: "{{ input.mail }}", more: "uses: [tool.refund]" })}`,
    )
    assert.deepEqual(
      diagnostics.filter(({ severity }) => severity === "error").map(({ message }) => message),
      [],
    )
    assert.ok(!diagnostics.some(({ code }) => /action|leak|effect|exception/.test(code)))
  })

  test("a value of a map has its labels under every key, whatever the map is taken for", () => {
    const modules = {
      "inner.wire": `input { any: object }
        mcp s { endpoint: "https://s.example.com" }
        tool act from mcp.s.tool.act { requires: trusted }
        output { x: call tool.act { input { x: input.any.key.a } } }`,
    }
    const source = (mark: string): string => `workflow inner from "./inner.wire"
      input { boxes: map { a: ${mark}string } }
      output { x: call workflow.inner { input { any: input.boxes } } }`
    const codes = (text: string): string[] =>
      compile(text, { modules }).diagnostics.flatMap(({ code, severity }) => (severity === "error" ? [code] : []))
    assert.deepEqual(codes(source("untrusted ")), ["untrusted-action"])
    assert.deepEqual(codes(source("")), [])
  })

  test("words of files that are imported count here", () => {
    const modules = {
      "lib.wire": `schema letter { text: untrusted string  id: string }
        mcp s { endpoint: "https://s.example.com" }
        tool act from mcp.s.tool.act { requires: trusted }`,
    }
    const source = `import { schema.letter, tool.act as do_it } from "./lib.wire"
      input { letter: schema.letter }
      dynamic {
        a: call tool.do_it { input { x: input.letter.id } }
        b: call tool.do_it { input { x: input.letter.text } }
      }
      output { a: dynamic.a  b: dynamic.b }`
    const { diagnostics } = compile(source, { modules })
    const [found, ...others] = diagnostics
    assert.deepEqual([found?.code, found?.path, others], ["untrusted-action", "dynamic.b", []])
    assert.match(found?.hint ?? "", /^input\.letter\.text → tool\.do_it\n/)
    // The marker is in the other file: here, the import leads to it.
    const [place] = found?.related ?? []
    assert.equal(source.slice(place?.span.start, place?.span.end), "schema.letter")
  })

  test("fields and agents may be called like the words", () => {
    const source = `input { private: string  untrusted: boolean  trust: string }
      output { a: input.private  b: input.untrusted  release: input.trust }`
    assert.deepEqual(compile(source).diagnostics, [])
  })

  test("a chain of thousands of agents", () => {
    const count = atStrength(2_000, 10_000)
    const parts = [`input { mail: untrusted string }\nprovider p from openai { }\nmodel m from p { id: "x" }\n`]
    for (let at = 0; at < count; at++) {
      const read = at === 0 ? "input.mail" : `agent.a${at - 1}.t`
      parts.push(`agent a${at} { model: model.m instruction: "{{ ${read} }}" output { t: string } }\n`)
    }
    parts.push(`mcp s { endpoint: "https://s.example.com" }\ntool act from mcp.s.tool.act { requires: trusted }\n`)
    parts.push(`output { x: call tool.act { input { x: agent.a${count - 1}.t } } }`)
    const found = compile(parts.join("")).diagnostics.filter(({ code }) => code === "untrusted-action")
    assert.equal(found.length, 1)
    assert.match(
      found[0]?.hint ?? "",
      new RegExp(`^input\\.mail → agent\\.a0\\.instruction → .* → agent\\.a${count - 1}\\.instruction → tool\\.act\n`),
    )
  })
})

describe("functions of one's own", () => {
  const functions = `
function pair(a: string, b: string) = { a: a, b: b }
function chosen(flag: boolean, a: string) = match flag { true: a false: "" }
function vouched(a: string) = trust a because "read by a person"
function around(a: string, b: string) = pair(b, a)
`
  const codes = (argument: string): string[] => {
    const source = `${head}${functions}output { a: call tool.refund { input { to: ${argument} } } }`
    return compile(source).diagnostics.flatMap(({ code }) => (code === "untrusted-action" ? [code] : []))
  }

  test("have the labels of their expression in the place of the call", () => {
    assert.deepEqual(codes("pair(input.shop, input.mail).a"), [])
    assert.deepEqual(codes("pair(input.shop, input.mail).b"), ["untrusted-action"])
    assert.deepEqual(codes("around(input.shop, input.mail).b"), [])
    assert.deepEqual(codes("around(input.shop, input.mail).a"), ["untrusted-action"])
    assert.deepEqual(codes("chosen(input.mail == input.shop, input.shop)"), ["untrusted-action"])
    assert.deepEqual(codes("vouched(input.mail)"), [])
  })
})

describe("functions of code files", () => {
  const modules = { "code.js": "export const pair = (a, b) => [a, b]\nexport const one = (a) => a" }
  const functions = `
function pair(a: string, b: string): { a: string, b: string } from "./code.js"
function one(a: string): boolean from "./code.js"
function vouched(a: string, b: string) = trust (pair(a, b).a) because "read by a person"
`
  const codes = (body: string): string[] => {
    const { diagnostics } = compile(`${head}${functions}${body}`, { modules })
    return diagnostics.flatMap(({ code, severity }) => (severity === "error" ? [code] : []))
  }
  const refund = (argument: string): string[] => codes(`output { a: call tool.refund { input { to: ${argument} } } }`)

  test("have all labels of all arguments, whole", () => {
    assert.deepEqual(refund("pair(input.shop, input.shop).a"), [])
    assert.deepEqual(refund("pair(input.shop, input.mail).a"), ["untrusted-action"])
    assert.deepEqual(refund("vouched(input.shop, input.mail)"), [])
  })

  test("are not endorsed by closed types", () => {
    assert.deepEqual(refund("match one(input.mail) { true: input.shop false: input.shop }"), ["untrusted-action"])
  })

  test("may tell in one call what an earlier one in the step was given", () => {
    const argument = "at([one(input.mail), one(input.shop)], 1)"
    assert.deepEqual(refund(`text(${argument})`), ["untrusted-action"])
    assert.deepEqual(refund("text(one(input.shop))"), [])
    const items = "[{ a: one(input.shop), b: one(input.mail) } for n in range(2)]"
    assert.deepEqual(refund(`text(first(${items})?.a)`), ["untrusted-action"])
    const steps = "dynamic { a: one(input.mail)  b: one(input.shop) }"
    assert.deepEqual(codes(`${steps} output { a: call tool.refund { input { to: text(dynamic.b) } } }`), [])
  })

  test("may fail of what they are given", () => {
    const skipped = `agent a { model: model.safe  on_failure: skip  dynamic { n: one(input.mail) }  instruction: "Hi."  output { n: boolean } }
output { a: call tool.refund when agent.a == null { input { to: input.shop } } }`
    assert.ok(codes(skipped).includes("untrusted-action"))
  })
})
