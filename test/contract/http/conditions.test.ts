import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { collect, eventsOf } from "./read-stream.ts"
import { errorOf, startService } from "./start-service.ts"

const source = `
input {
    urgent: boolean
    tickets: [{ text: string, open: boolean }]
}

provider demo from openai {
    endpoint: "demo"
}

model small from demo {
    id: "demo"
}

agent escalate when input.urgent {
    model: model.small
    instruction: "Escalate."

    output {
        text: string
    }
}

agent reply for ticket in input.tickets when ticket.open && ticket.text != "" {
    model: model.small
    instruction: ticket.text

    output {
        text: string
    }
}

output {
    escalated: agent.escalate != null
    replies: agent.reply.*.text
    tone: match input.urgent {
        true: "short"
        false: "warm"
    }
}
`

describe("conditions over HTTP", async () => {
  const service = await startService()

  it("shows the source text of a condition in the plan, and null in the types of what may be skipped", async () => {
    const response = await service.post("/validate", { workflow_source: source })
    const { valid, issues, plan, schemas } = (await response.json()) as {
      valid: boolean
      issues: unknown[]
      plan: { nodes: { id: string; when?: string }[] }
      schemas: { output: { properties: { replies: unknown } } }
    }
    assert.ok(valid)
    assert.deepEqual(issues, [])
    assert.deepEqual(
      plan.nodes.map(({ id, when }) => [id, when]),
      [
        ["agent.escalate", "input.urgent"],
        ["agent.reply", 'ticket.open && ticket.text != ""'],
        ["output", undefined],
      ],
    )
    assert.ok(!("when" in (plan.nodes[2] ?? {})))
    assert.deepEqual(schemas.output.properties.replies, {
      type: "array",
      items: { anyOf: [{ type: "string" }, { type: "null" }] },
    })
  })

  it("tells of steps that were skipped, and goes on without them", async () => {
    const input = {
      urgent: false,
      tickets: [
        { text: "a", open: false },
        { text: "b", open: true },
      ],
    }
    const response = await service.post("/execute", { workflow_source: source, input }, { accept: "text/event-stream" })
    const events = await collect(eventsOf(response, []))
    const skipped = events.filter(({ type }) => type === "step_skipped").map(({ data }) => ({ ...data, at: "" }))
    assert.deepEqual(
      skipped.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
      [
        { step: "agent.escalate", at: "" },
        { step: "agent.reply", iteration: 0, at: "" },
      ],
    )
    const end = events.at(-1)
    assert.equal(end?.type, "workflow_completed")
    assert.ok(end)
    const { result } = (end.data as { output: { result: { escalated: boolean; replies: unknown[]; tone: string } } })
      .output
    assert.deepEqual(
      [result.escalated, result.replies[0], typeof result.replies[1], result.tone],
      [false, null, "string", "warm"],
    )
  })

  it("refuses a condition that is not a boolean, at its path", async () => {
    const broken = source.replace("when input.urgent {", "when input.tickets {")
    const response = await service.post("/execute", { workflow_source: broken, input: {} })
    assert.equal(response.status, 422)
    const { issues } = await errorOf(response)
    assert.deepEqual(
      issues.map(({ path }) => path),
      ["agent.escalate.when"],
    )
  })
})
