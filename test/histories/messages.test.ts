import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { runScene } from "./messages-run.ts"

// Recorded logs, with the requests that were sent. A run that was interrupted under the release that wrote the log goes on under
// this one: it asks the backend what that release would have asked, and nothing that is answered.

const paths = globSync(`${import.meta.dirname}/messages-*.requests.json`).toSorted()

for (const path of paths) {
  const name = basename(path, ".requests.json")
  const { appends, asked } = JSON.parse(readFileSync(path, "utf8")) as { appends: number[]; asked: JsonObject[] }
  const lines = readFileSync(path.replace(".requests.json", ".jsonl"), "utf8").trimEnd().split("\n")
  const events = lines.map((line) => JSON.parse(line) as LogEvent)
  const recorded = asked.map(normal)

  test(`${name}: this release asks what that release asked`, async () => {
    const outcome = await runScene()
    assert.deepEqual(outcome.asked.map(normal), recorded)
    assert.deepEqual(resultOf(outcome.events), resultOf(events))
  })

  for (const last of appends.slice(0, -1)) {
    test(`${name}: goes on after event ${last}`, async () => {
      const past = structuredClone(events.slice(0, last))
      const outcome = await runScene(past)
      assert.deepEqual(resultOf(outcome.events), resultOf(events))
      const sent = outcome.asked.map(normal)
      assert.deepEqual(sent, recorded.slice(recorded.length - sent.length))
      assert.equal(sent.length, recorded.length - answered(past))
    })
  }
}

/** Requests whose answers the log knows: of ended agents, of turns that called tools, of retries, of summaries. */
function answered(past: readonly LogEvent[]): number {
  let count = 0
  const open = new Map<string, number>()
  const add = (agent: string, calls: number): void => void open.set(agent, (open.get(agent) ?? 0) + calls)
  for (const event of past) {
    if (event.type === "agent_retried") add(event.data.agent, 1)
    if (event.type === "context_compacted") count++
    if (event.type === "tool_call_started" && JSON.stringify(event).includes('"answer"')) add(event.data.agent ?? "", 1)
    if (event.type === "agent_completed") {
      count += event.data.calls.length
      open.delete(event.data.agent)
    }
  }
  return [...open.values()].reduce((sum, calls) => sum + calls, count)
}

function resultOf(events: readonly LogEvent[]): unknown {
  const last = events.at(-1)
  return last?.type === "workflow_completed" ? last.data.output : last
}

/** The same request in one spelling: a text may be a string or a list with one part, annotations may be left out. */
function normal(body: JsonObject): JsonObject {
  const items = body["input"] as JsonObject[]
  return { ...body, input: items.map(normalItem) }
}

function normalItem(item: JsonObject): JsonObject {
  const { content } = item
  if (typeof content === "string") return { ...item, content: [{ type: "input_text", text: content }] }
  if (!Array.isArray(content)) return item
  const parts = content.map((part) => {
    const { annotations: _, ...rest } = part as JsonObject
    return rest
  })
  return { ...item, content: parts }
}
