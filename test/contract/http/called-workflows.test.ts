import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { Question } from "../../../src/log/events.ts"
import { startService } from "./start-service.ts"

const triage = `
input { text: string }
provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
agent classify {
    model: model.m
    instruction: "Classify {{ input.text }}"
    output { kind: string }
}
ask review {
    question: "Is {{ agent.classify.kind }} right?"
    output { right: boolean }
}
output { kind: agent.classify.kind  right: ask.review.right }
`

const main = `
input { text: string }
workflow triage from "./triage.wire"
dynamic { first: call workflow.triage { input { text: input.text } } }
output { first: dynamic.first }
`

const approving = main.replace("input { text: input.text } }", "input { text: input.text }  approval: required }")

interface Waiting {
  readonly run_id: string
  readonly status: string
  readonly questions: readonly Question[]
}

interface Ended {
  readonly status: string
  readonly output?: { readonly first: { readonly right: boolean } }
}

const directory = mkdtempSync(join(tmpdir(), "wireworks-called-"))
after(() => rmSync(directory, { recursive: true }))

for (const store of ["memory", "sqlite"]) {
  describe(`workflows that call workflows over HTTP, store ${store}`, async () => {
    const service = await startService({ STORE: store, DATA_DIR: join(directory, store) })
    const start = async (source: string): Promise<Waiting> => {
      const body = { workflow_source: source, modules: { "triage.wire": triage }, input: { text: "hello" } }
      const response = await service.post("/execute", body)
      const waiting = (await response.json()) as Waiting
      assert.equal(response.status, 202, JSON.stringify(waiting))
      return waiting
    }
    const only = ({ questions: [question] }: Waiting): Question => {
      assert.ok(question !== undefined)
      return question
    }

    it("asks inside, waits as one run, takes the answer, and a re-run takes it all over", async () => {
      const waiting = await start(main)
      const question = only(waiting)
      assert.equal(question.scope, "triage@dynamic.first")
      const wrong = await service.post(`/execute/${waiting.run_id}/questions/${question.id}`, { answer: { right: 1 } })
      assert.equal(wrong.status, 422)
      const taken = await service.post(`/execute/${waiting.run_id}/questions/${question.id}`, {
        answer: { right: true },
      })
      assert.equal(taken.status, 200)
      const ended = (await (await service.get(`/execute/${waiting.run_id}?wait=20`)).json()) as Ended
      assert.equal(ended.output?.first.right, true, JSON.stringify(ended))

      const again = await service.post(`/execute/${waiting.run_id}/rerun`, {})
      assert.equal(again.status, 200, await again.clone().text())
      for (const from of [
        "triage@dynamic.first/agent.x",
        "triage@dynamic.second/ask.review",
        "triage@dynamic.second",
        "triage@dynamic.first/triage@dynamic.first",
        "triage@",
        `triage@dynamic.first${"[1]".repeat(20_000)}x`,
        "triage@dynamic.first/".repeat(20_000),
      ]) {
        const unknown = await service.post(`/execute/${waiting.run_id}/rerun`, { from: [from] })
        assert.equal(unknown.status, 422, from)
      }
      const forced = await service.post(`/execute/${waiting.run_id}/rerun`, {
        from: ["triage@dynamic.first/ask.review"],
      })
      assert.equal(forced.status, 202, "the person is asked again")
    })

    it("asks for the approval of a call, with workflow and file in place of tool and server", async () => {
      const waiting = await start(approving)
      const { kind, workflow, file, arguments: sent, digest, tool, id } = only(waiting)
      assert.deepEqual(
        [kind, workflow, file, sent, tool],
        ["approval", "triage", "triage.wire", { text: "hello" }, undefined],
      )
      const refused = await service.post(`/execute/${waiting.run_id}/questions/${id}`, {
        answer: { approve: false, note: "no" },
        digest,
      })
      assert.equal(refused.status, 200)
      const ended = (await (await service.get(`/execute/${waiting.run_id}?wait=20`)).json()) as Ended
      assert.equal(ended.status, "failed", JSON.stringify(ended))
    })
  })
}

describe("the files of a workflow, over HTTP", async () => {
  const service = await startService()

  it("get null for what a call leaves out of their input, and may be null", async () => {
    const body = {
      workflow_source: `workflow in from "./in.wire"
output { one: call workflow.in { input { text: "x" } }  again: repeat workflow.in { input { text: "y" } until: true next { text: "z" } at_most: 2 } }`,
      modules: { "in.wire": "input { text: string  n: maybe integer }\noutput { text: input.text  n: input.n ?? 7 }" },
    }
    const response = await service.post("/execute", body)
    const answer = (await response.json()) as { one: unknown; again: { result: unknown } }
    assert.deepEqual(
      [response.status, answer.one, answer.again.result],
      [200, { text: "x", n: 7 }, { text: "y", n: 7 }],
    )
  })

  it("are suggested by the nearest path that exists", async () => {
    const modules = { "lib/common.wire": "schema s { a: string }", "other.wire": "schema s { a: string }" }
    for (const [written, meant] of [
      ["lib/common.wire", "../lib/common.wire"],
      ["/lib/common.wire", "../lib/common.wire"],
      ["../lib/common.wire ", "../lib/common.wire"],
      ["../../lib/common.wire", "../lib/common.wire"],
      ["../lib//common.wire", "../lib/common.wire"],
      ["./other.wire", "../other.wire"],
      ["./common.wire", "../lib/common.wire"],
    ]) {
      const workflow_source = `import { schema.s } from "${written}"\ninput { a: schema.s }\noutput { a: input.a }`
      const response = await service.post("/validate", { workflow_source, modules, file: "flows/main.wire" })
      const { issues } = (await response.json()) as { issues: readonly { code: string; hint?: string }[] }
      const [issue] = issues
      assert.deepEqual([issue?.code, issue?.hint], ["unknown-file", `Did you mean \`${meant}\`?`], written)
    }
  })

  it("may have each secret once", async () => {
    const workflow_source = `workflow d from "./d.wire" { secrets { k: secrets.one, k: secrets.two } }
secrets { one: string  two: string }
output { d: call workflow.d }`
    const d =
      'secrets { k: string }\nprovider p from openai { endpoint: "demo" api_key: secrets.k }\nmodel m from p { id: "demo" }\nagent a { model: model.m instruction: "x" output { t: string } }\noutput { t: agent.a.t }'
    const response = await service.post("/validate", { workflow_source, modules: { "d.wire": d } })
    const { issues } = (await response.json()) as { issues: readonly { code: string; path: string }[] }
    assert.deepEqual(
      issues.map(({ code, path }) => [code, path]),
      [["duplicate-field", "workflow.d.secrets.k"]],
    )
  })
})
