import assert from "node:assert/strict"
import { test } from "node:test"
import { McpServer } from "@modelcontextprotocol/server"
import { startMcpServer } from "../support/mcp-server.ts"
import { dataOf, errorOf, resultOf } from "../support/run-plan.ts"
import { hosting, preamble } from "../support/run-source.ts"

test("tools, prompts and resources are found by the normal form of their names", async () => {
  const called: string[] = []
  const server = await startMcpServer(() => {
    const offers = new McpServer({ name: "tasks", version: "1.0.0" })
    for (const name of ["create-sorting-task", "Close.Task", "closeTasks", "move-task", "MoveTask"]) {
      offers.registerTool(name, { description: name }, () => {
        called.push(name)
        return { content: [{ type: "text", text: `${name} done` }] }
      })
    }
    offers.registerPrompt("WriteReport", {}, () => ({
      messages: [{ role: "user", content: { type: "text", text: "Report." } }],
    }))
    offers.registerResource("Release Notes", "tasks://notes", {}, () => ({
      contents: [{ uri: "tasks://notes", text: "Notes." }],
    }))
    return offers
  })
  const host = hosting()
  try {
    const outcome = await host.run(`${preamble(server.url)}
      from mcp.s {
          tool create_sorting_task
          tool close_task
          prompt write_report
          resource release_notes
      }
      output {
          created: call tool.create_sorting_task
          closed: call tool.close_task
          report: render prompt.write_report
          notes: read resource.release_notes
      }`)
    assert.deepEqual(resultOf(outcome), {
      created: "create-sorting-task done",
      closed: "Close.Task done",
      report: "Report.",
      notes: "Notes.",
    })
    assert.deepEqual(called.toSorted(), ["Close.Task", "create-sorting-task"])
    assert.deepEqual(
      dataOf(outcome.events, "tool_call_started").map(({ tool }) => tool),
      ["create_sorting_task", "close_task"],
    )
    const two = await host.run(
      `${preamble(server.url)} tool from mcp.s.tool.move_task  output { a: call tool.move_task }`,
    )
    const { kind, issues } = errorOf(two)
    assert.equal(kind, "validation_error")
    assert.deepEqual(issues, [
      {
        path: "tool.move_task",
        message: "mcp.s has 2 tools that move_task may mean: move-task, MoveTask",
        hint: "Write the name as the server does: `mcp.s.tool.move-task`.",
      },
    ])
  } finally {
    await host.close()
    await server.close()
  }
})
