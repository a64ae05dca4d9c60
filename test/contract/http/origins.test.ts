import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { fakeBackend, says } from "../../support/fake-backend.ts"
import type { OriginsAnswer } from "../../../src/api/origins.ts"
import { errorOf, startService } from "./start-service.ts"

const mail = "Dear shop, the blue lamp that I bought on Monday arrived with a broken switch. Please help."

function source(endpoint: string): string {
  return `input {
    mail: untrusted string
    notes: private string
    lang: string
}
provider p from openai {
    endpoint: "${endpoint}"
    cleared: private
}
model m from p { id: "fake" }
agent read {
    model: model.m
    instruction: "Say what this mail is about: {{ input.mail }}"
    output { problem: string }
}
agent reply {
    model: model.m
    instruction: """
        Answer in {{ input.lang }}.
        Problem: {{ agent.read.problem }}
        Notes: {{ input.notes }}
    """
    output { text: string }
}
ask check {
    question: "Is it right? {{ agent.reply.text }}"
    expires_seconds: 3600
    output { remark: string }
}
dynamic {
    signed: "{{ agent.reply.text }} {{ ask.check.remark }}"
}
output {
    reply: "To you: {{ dynamic.signed }}"
    problem: agent.read.problem
    fixed: "always the same"
    parts: { lang: input.lang, list: [agent.reply.text, "end"] }
}
`
}

describe("origins of an output", async () => {
  const service = await startService()

  async function finished(t: Parameters<typeof fakeBackend>[0]): Promise<string> {
    const { backend } = await fakeBackend(t, (_request, n) =>
      n === 1
        ? says('{"problem":"The blue lamp arrived with a broken switch"}')
        : says('{"text":"We are sorry that the blue lamp arrived with a broken switch; a refund is on its way"}'),
    )
    const input = { mail, notes: "Ada gets a refund", lang: "English" }
    const response = await service.post("/execute", { workflow_source: source(backend.endpoint), input })
    const waiting = (await response.json()) as { run_id: string; questions: readonly { id: string }[] }
    assert.equal(response.status, 202, JSON.stringify(waiting))
    const { run_id, questions } = waiting
    const answer = { answer: { remark: "Kind regards" } }
    assert.equal((await service.post(`/execute/${run_id}/questions/${questions[0]?.id}`, answer)).status, 200)
    const ended = await service.get(`/execute/${run_id}?wait=30`)
    assert.equal(((await ended.json()) as { status: string }).status, "completed")
    return run_id
  }

  async function origins(run_id: string, query: string): Promise<OriginsAnswer["paths"]> {
    const response = await service.get(`/execute/${run_id}/origins?${query}`)
    assert.equal(response.status, 200)
    return ((await response.json()) as OriginsAnswer).paths
  }

  it("leads from words of the output to the request, and to what the model read", async (t) => {
    const run_id = await finished(t)
    const text =
      "To you: We are sorry that the blue lamp arrived with a broken switch; a refund is on its way Kind regards"
    const from = text.indexOf("the blue lamp")
    const to = text.indexOf(";")
    const [first] = await origins(run_id, `path=output.reply&from=${from}&to=${to}`)
    const hops = (first ?? []).map(({ kind, at }) => `${kind} ${at}`)
    assert.deepEqual(
      hops.map((hop) => hop.replace(/:\d+:\d+$/, "").replace(/calls\/.*/, "calls")),
      [
        "output output.reply",
        "expression main.wire",
        "step agent.reply.text",
        "request calls",
        "step agent.read.problem",
        "request calls",
        "input input.mail",
      ],
    )
    const [, , step, request] = first ?? []
    assert.equal(step?.text, "the blue lamp arrived with a broken switch")
    const call = (await (await service.get(`/execute/${run_id}/${request?.at ?? ""}`)).json()) as { text: string }
    const { from: start = 0, to: end = 0 } = request?.range ?? {}
    assert.equal(call.text.slice(start, end), "The blue lamp arrived with a broken switch")
    const last = first?.at(-1)
    assert.equal(mail.slice(last?.range?.from, last?.range?.to), last?.text)
    assert.deepEqual(last?.labels, ["untrusted"])
    assert.ok(first?.[0]?.labels.includes("untrusted"))
  })

  it("names every piece that the model read, private ones as such", async (t) => {
    const run_id = await finished(t)
    const paths = await origins(run_id, "path=output.parts.list[0]")
    const ends = paths.map((path) => path.at(-1)?.at)
    for (const one of ["input.mail", "input.notes", "input.lang"]) assert.ok(ends.includes(one), one)
    assert.deepEqual(paths.find((path) => path.at(-1)?.at === "input.notes")?.at(-1)?.labels, ["private"])
  })

  it("stops at what the author wrote, at the input, and at the answer of a person", async (t) => {
    const run_id = await finished(t)
    const ends = async (query: string): Promise<unknown> => {
      const paths = await origins(run_id, query)
      return paths.map((path) => path.slice(1).map(({ kind, at, text }) => [kind, at, text]))
    }
    const lines = source("").split("\n")
    const at = (needle: string, more = 0): string => {
      const line = lines.findIndex((one) => one.includes(needle))
      return `main.wire:${line + 1}:${(lines[line] ?? "").indexOf(needle) + 1 + more}`
    }
    const fixed = at('"always')
    assert.deepEqual(await ends("path=output.fixed"), [
      [
        ["expression", fixed, '"always the same"'],
        ["source", at('"always', 1), "always the same"],
      ],
    ])
    assert.deepEqual(await ends("path=output.parts.lang"), [
      [
        ["expression", at("input.lang, list"), "input.lang"],
        ["input", "input.lang", "English"],
      ],
    ])
    const paths = await origins(run_id, "path=output.reply&from=0&to=3")
    assert.deepEqual(
      paths.map((path) => path.at(-1)),
      [{ kind: "source", at: at('"To you', 1), text: "To you: ", labels: [] }],
    )
    const whole = await origins(run_id, "path=output.reply")
    assert.ok(whole.some((path) => path.at(-1)?.kind === "answer" && path.at(-1)?.at === "ask.check.remark"))
  })

  it("follows items of loops, and what an expression computes", async () => {
    const workflow_source = `input { things: [string] }
provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
agent each for thing in input.things { model: model.m  instruction: "Describe {{ thing }}"  output { text: string } }
output { list: agent.each.*.text  all: join(agent.each.*.text, " ")  count: length(input.things) }
`
    const input = { things: ["owls", "lamps", "rivers"] }
    const response = await service.post("/execute", { workflow_source, input })
    assert.equal(response.status, 200)
    const run_id = response.headers.get("x-service-run-id") ?? ""
    const { list } = (await response.json()) as { list: string[] }
    const item = await origins(run_id, "path=output.list[2]")
    assert.ok(item.every((path) => path.some(({ at }) => at === "agent.each[2].text")))
    assert.ok(item.some((path) => path.at(-1)?.at === "input.things[2]"))
    const from = `${list[0]} `.length
    const all = await origins(run_id, `path=output.all&from=${from}&to=${from + (list[1] ?? "").length}`)
    const [best = []] = all
    assert.ok(
      best.some(({ at }) => at === "agent.each[1].text"),
      JSON.stringify(best),
    )
    const count = await origins(run_id, "path=output.count")
    assert.deepEqual(
      count.map((path) => path.at(-1)?.at),
      ["input.things"],
    )
    const unknown = await errorOf(await service.get(`/execute/${run_id}/origins?path=output.list.length`))
    assert.equal(unknown.status, 400)
  })

  it("refuses what the output does not have", async (t) => {
    const run_id = await finished(t)
    for (const [query, path] of [
      ["path=output.nothing", "path"],
      ["path=input.mail", "path"],
      ["path=output..reply", "path"],
      ["path=", "path"],
      ["", "path"],
      ["path=output.fixed&from=3&to=3", "from"],
      ["path=output.fixed&to=999", "to"],
      ["path=output.fixed&from=-1", "from"],
      ["path=output.fixed&from=x", "from"],
      ["path=output.parts&from=0", "from"],
    ]) {
      const { status, issues } = await errorOf(await service.get(`/execute/${run_id}/origins?${query}`))
      assert.deepEqual([status, issues[0]?.path], [400, path], query)
    }
    assert.equal((await service.get("/execute/unknown/origins?path=output.reply")).status, 404)
  })
})
