import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { test } from "node:test"
import type { LogEvent } from "../../src/log/events.ts"
import { thisWriter } from "../../src/log/log-version.ts"
import { runEffects } from "./effects-scene.ts"

// Recorded logs, each cut after every append, as if the process had died there and this release had taken the run up:
// it comes to the same end, and nothing whose outcome the log knows is done again. A call that may have been made and must not
// be made twice is not made.

for (const path of globSync(`${import.meta.dirname}/effects-*.effects.json`).toSorted()) {
  const name = basename(path, ".effects.json")
  const harmless = name.endsWith("-harmless")
  const { appends } = JSON.parse(readFileSync(path, "utf8")) as { appends: number[] }
  const lines = readFileSync(path.replace(".effects.json", ".jsonl"), "utf8").trimEnd().split("\n")
  const events = lines.map((line) => JSON.parse(line) as LogEvent)

  for (const last of appends.slice(0, -1)) {
    test(`${name}: goes on after event ${last}`, async () => {
      const past = structuredClone(events.slice(0, last))
      const { made, events: log } = await runEffects(harmless, past)
      const { known, unsure } = replayStateOf(past, harmless)
      assert.deepEqual(
        made.filter((effect) => known.has(effect)),
        [],
      )
      assert.equal(new Set(made).size, made.length)
      const end = log.at(-1)
      if (unsure) {
        assert.ok(end?.type === "workflow_failed")
        assert.equal(end.data.error.kind, "tool_error")
        assert.match(end.data.error.message, /was interrupted, and its outcome is unknown/)
      } else {
        assert.deepEqual(resultOf(log), resultOf(events))
      }
    })
  }

  test(`${name}: what this release makes of the same workflow`, async () => {
    const { made, events: log } = await runEffects(harmless)
    const recorded = JSON.parse(readFileSync(path, "utf8")) as { made: string[] }
    assert.deepEqual(made.toSorted(), recorded.made.toSorted())
    assert.deepEqual(resultOf(log), resultOf(events))
  })
}

test("there are recordings of the current form", () => {
  assert.equal(globSync(`${import.meta.dirname}/effects-form-${thisWriter.log}*.jsonl`).length, 2)
})

/** What must not be done again, and whether a call of the workflow's own is open that must not be made twice. */
function replayStateOf(past: readonly LogEvent[], harmless: boolean): { known: Set<string>; unsure: boolean } {
  const known = new Set<string>()
  const open = new Map<string, { readonly effect: string; readonly own: boolean }>()
  const items = ["a", "b", "c"]
  for (const event of past) {
    if (event.type === "tool_call_started") {
      const { q } = event.data.arguments as { q: string }
      const effect = `${event.data.tool} ${JSON.stringify(q)}`
      const kept = event.kept as { site?: string; turn?: number; answer?: object } | undefined
      open.set(event.data.call_id, { effect, own: kept?.site !== undefined })
      if (event.data.tool === "note" && !harmless) known.add(effect)
      if (kept?.answer !== undefined) known.add(`model asks ${kept.turn}`)
    } else if (event.type === "tool_call_completed") {
      known.add(open.get(event.data.call_id)?.effect ?? "")
      open.delete(event.data.call_id)
    } else if (event.type === "resource_read") known.add(`read ${event.data.name}`)
    else if (event.type === "prompt_rendered") known.add(`render ${event.data.name}`)
    else if (event.type === "agent_completed") {
      const { agent, iteration } = event.data
      const name = iteration === undefined ? agent : `${agent} ${items[iteration]}`
      for (const turn of [1, 2, 3]) known.add(`model ${name} ${turn}`)
    }
  }
  const unsure = !harmless && [...open.values()].some(({ effect, own }) => own && effect.startsWith("note "))
  return { known, unsure }
}

function resultOf(events: readonly LogEvent[]): unknown {
  const last = events.at(-1)
  return last?.type === "workflow_completed" ? last.data.output : last
}
