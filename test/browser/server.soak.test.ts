import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { eventually, hasAttribute, hasCount, hasFocus, runToEnd, says, tab, write } from "./actions.ts"
import { lookAt } from "./look-at.ts"
import { openPlayground } from "./open-playground.ts"
import { openServed, servedFolder } from "./served.ts"

const playground = await openPlayground({ WIRE_WORKFLOWS: servedFolder() })

describe("the workflows of the server", () => {
  test("stay read-only after a reload", async () => {
    const { page, close } = await playground.visit()
    await openServed(page, "tickets/triage")
    await page.waitForFunction(
      () => sessionStorage.length > 0 && JSON.stringify(sessionStorage).includes("tickets/triage"),
    )
    await page.reload()
    await page.getByText("The server's workflow tickets/triage").waitFor()
    await close()
  })
})

describe("a run that calls workflows", () => {
  test("opens each call to its steps", async () => {
    const inner = `provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
workflow deep from "./deep.wire"
agent write { model: model.m  instruction: "Write about owls."  output { text: string } }
dynamic { d: call workflow.deep }
output { text: agent.write.text  more: dynamic.d.text }`
    const deep = `provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
agent needle { model: model.m  instruction: "Write about hay."  output { text: string } }
output { text: agent.needle.text }`
    const body = {
      workflow_source: `workflow inner from "./inner.wire"
dynamic { twice: [call workflow.inner for n in [1, 2]] }
output { twice: dynamic.twice }`,
      modules: { "inner.wire": inner, "deep.wire": deep },
      input: {},
    }
    const ran = await fetch(`${playground.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    assert.equal(ran.status, 200, await ran.text())
    const { page, close } = await playground.visit({ reducedMotion: "reduce" })
    await page.goto(`${playground.address}/playground#run=${ran.headers.get("x-service-run-id") ?? ""}`)
    await page.reload()
    await page.getByRole("treeitem", { name: /^workflow\.inner\[1\]/ }).click()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByRole("button", { name: /agent\.write/ }).click()
    await details.getByText("Write about owls.").waitFor()
    await page.getByText("No problems").waitFor()
    const complaints: string[] = []
    await lookAt(page, complaints)("inside")

    // A step far inside is found by its name: graph, timeline and details show it.
    const graph = page.getByRole("region", { name: "Graph" })
    const find = graph.getByRole("searchbox", { name: "Find a step" })
    await find.fill("needle")
    await find.press("Enter")
    await says(graph.getByRole("navigation", { name: "Opened calls" }), /inner\s+deep/)
    await hasAttribute(graph.locator('[data-node="agent.needle"]'), "aria-pressed", "true")
    await hasFocus(find)
    const selected = page.locator("[role=treeitem][aria-selected=true]")
    await says(selected, /agent\.needle/)
    await details.getByText("Write about hay.").waitFor()
    await lookAt(page, complaints)("found-inside")
    // The rows of the calls are walked like all others.
    await page.getByRole("tree", { name: "Timeline" }).press("ArrowDown")
    await says(selected, /model call/)
    await page.getByRole("tree", { name: "Timeline" }).press("ArrowLeft")
    await says(selected, /agent\.needle/)
    await page.getByRole("tree", { name: "Timeline" }).press("ArrowLeft")
    await page.getByRole("tree", { name: "Timeline" }).press("ArrowLeft")
    await says(selected, /workflow\.deep/)
    assert.deepEqual(complaints, [])
    await close()
  })

  test("opens a call in the graph, with the way back, and its events alone", async () => {
    const complaints: string[] = []
    for (const width of [1440, 390]) {
      const viewport = { width, height: width === 390 ? 844 : 900 }
      const { page, close } = await playground.visit({ viewport, reducedMotion: "reduce" })
      await openServed(page, "caller")
      await runToEnd(page)
      if (width === 390) await tab(page, "Graph")
      const graph = page.getByRole("region", { name: "Graph" })
      await graph.getByRole("button", { name: /^Open workflow\.inner/ }).click()
      await graph.getByRole("navigation", { name: "Opened calls" }).waitFor()
      const step = graph.locator('[data-node^="agent."]').first()
      await step.click()
      await hasAttribute(step, "aria-pressed", "true")
      await lookAt(page, complaints, `${width}-`)("call-in-graph")
      if (width === 1440) {
        const details = page.getByRole("region", { name: "Details" })
        await details.getByText("Instruction, as rendered").waitFor()
        await tab(page, "Events")
        const events = page.getByRole("listbox", { name: "Events" })
        await page.getByRole("combobox", { name: "Events of" }).selectOption({ index: 2 })
        await events.getByText("workflow_call_started").waitFor()
        await events.getByText("workflow_started").waitFor({ state: "detached" })
        await page.getByRole("combobox", { name: "Events of" }).selectOption({ label: "all calls" })
        await events.getByText("workflow_started").waitFor()
      }
      await graph.getByRole("button", { name: /^Back to/ }).click()
      await graph.getByRole("button", { name: /^Open workflow\.inner/ }).waitFor()
      await close()
    }
    assert.deepEqual(complaints, [])
  })
})

describe("a workflow of several files", () => {
  test("has no problems, and runs: as the server has it, and as a copy", async () => {
    const { page, close } = await playground.visit()
    await openServed(page, "caller")
    await page.getByText("No problems").waitFor()
    await runToEnd(page)
    await page.getByRole("button", { name: "Edit a copy" }).click()
    await page.reload()
    await page.getByText("No problems").waitFor()
    await runToEnd(page)
    await page.getByRole("treeitem", { name: /^workflow\.inner/ }).waitFor()
    await close()
  })
})

describe("the files of a workflow", () => {
  test("are looked at, edited and added to beside each other; checks, runs and links have them all", async () => {
    const { page, close } = await playground.visit({ reducedMotion: "reduce" })
    const complaints: string[] = []
    await openServed(page, "caller")
    await page.getByRole("tab", { name: "parts.wire" }).click()
    const text = page.locator(".cm-content:visible")
    await says(text, /Say \{\{ input\.n \}\}/)
    await page.getByRole("button", { name: "Edit a copy" }).click()
    await page.getByRole("tab", { name: "parts.wire" }).click()
    await text.click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type("agent broken {}")
    await page.getByText(/\d problems/).waitFor()
    await page.getByRole("tab", { name: "caller.wire" }).click()
    await page.getByText(/parts\.wire has \d errors/).waitFor()
    await lookAt(page, complaints)("files-of-a-workflow")
    await page.getByRole("tab", { name: "parts.wire" }).click()
    // Each file keeps what can be undone.
    await page.keyboard.press("ControlOrMeta+z")
    await page.getByText("No problems").waitFor()
    await page.keyboard.press("ControlOrMeta+Shift+z")
    await page.getByText(/\d problems/).waitFor()
    await write(page, "input { n: integer }\noutput { thrice: input.n * 3 }")
    await page.getByText("No problems").waitFor()
    await runToEnd(page)
    await page.getByText("thrice").first().waitFor()
    // A reload keeps the edits of all files.
    await page.waitForFunction(() => JSON.stringify(sessionStorage).includes("thrice"))
    await page.reload()
    await page.getByRole("tab", { name: "parts.wire" }).click()
    await says(text, /thrice/)
    await page.getByRole("button", { name: "Add a file to this workflow" }).click()
    await page.getByLabel("Path").fill("../up.wire")
    await page.getByRole("button", { name: "Add", exact: true }).click()
    await page.getByText("A path has names between").waitFor()
    await page.getByLabel("Path").fill("lib/more")
    await page.getByRole("button", { name: "Add", exact: true }).click()
    await hasAttribute(page.getByRole("tab", { name: "lib/more.wire" }), "aria-selected", "true")
    await page.getByRole("button", { name: "Remove lib/more.wire from this workflow" }).click()
    await hasCount(page.getByRole("tab", { name: "lib/more.wire" }), 0)
    await page.getByRole("button", { name: "Share" }).click()
    const link = page.getByLabel("Link to this workflow")
    await says(page.getByRole("dialog"), /with its other files/)
    await eventually(async () => assert.match(await link.inputValue(), /#w1=/))
    const address = await link.inputValue()
    await close()

    const other = await playground.visit({ reducedMotion: "reduce" })
    await other.page.goto(address)
    await other.page.reload()
    await other.page.getByRole("tab", { name: "parts.wire" }).click()
    await says(other.page.locator(".cm-content:visible"), /thrice/)
    await other.page.getByText("No problems").waitFor()
    await other.close()
    assert.deepEqual(complaints, [])
  })
})

describe("the server's workflows", () => {
  test("look right in both themes, wide and narrow", async () => {
    const complaints: string[] = []
    for (const width of [1440, 360]) {
      const viewport = { width, height: width === 360 ? 740 : 900 }
      const { page, close } = await playground.visit({ viewport, reducedMotion: "reduce" })
      const look = lookAt(page, complaints, `${width}-`)
      await openServed(page, "tickets/triage")
      await look("served")
      await close()
    }
    assert.deepEqual(complaints, [])
  })
})
