import assert from "node:assert/strict"
import { describe, test } from "node:test"
import {
  eventually,
  hasAttribute,
  hasCount,
  hasFocus,
  nodeSays,
  run,
  runToEnd,
  says,
  status,
  tab,
  write,
} from "./actions.ts"
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

describe("the triggers of the server", () => {
  test("are listed, started, paused and resumed, and look right in both themes", async () => {
    const complaints: string[] = []
    for (const width of [1440, 360]) {
      const viewport = { width, height: width === 360 ? 740 : 900 }
      const { page, close } = await playground.visit({ viewport, reducedMotion: "reduce" })
      const look = lookAt(page, complaints, `${width}-`)
      if (width === 360) await tab(page, "Results")
      await tab(page, "Triggers")
      const list = page.getByRole("region", { name: "Triggers of this server" })
      await list.getByText("POST /hooks/daily/asked").waitFor()
      await list.getByText("Monday to Friday at 09:00 (Europe/Berlin) · 0 9 * * 1-5").waitFor()
      await list.getByText(/^next /).waitFor()
      await list.getByRole("button", { name: "Start now: mornings of daily" }).click()
      await list.getByText("last: done").waitFor()
      await list.getByRole("button", { name: "Pause asked of daily" }).click()
      await list.getByText("paused").waitFor()
      await look("triggers")
      await list.getByRole("button", { name: "Resume asked of daily" }).click()
      await list.getByText("paused").waitFor({ state: "detached" })
      await list.getByRole("button", { name: "Open the last run of mornings" }).click()
      await status(page, /completed/)
      await tab(page, "Runs")
      await page.getByText("mornings, by hand").first().waitFor()
      await close()
    }
    assert.deepEqual(complaints, [])
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

describe("the runs of the server", () => {
  test("are listed, filtered and opened, live while they run", async () => {
    const { page, close } = await playground.visit()
    await openServed(page, "tickets/triage")
    await page.getByRole("textbox", { name: "name" }).fill("Ada")
    await runToEnd(page)
    await tab(page, "Runs")
    const list = page.getByRole("region", { name: "Runs of this server" })
    await list
      .getByRole("button", { name: /Open the run of tickets\/triage/ })
      .first()
      .waitFor()

    // Somebody else starts a slow one: it comes into the list by itself.
    const started = await fetch(`${playground.address}/workflows/slowly/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", prefer: "respond-async" },
      body: "{}",
    })
    const { run_id } = (await started.json()) as { run_id: string }
    const row = list.getByRole("listitem").filter({ hasText: "slowly" })
    await row.waitFor()
    await page.getByLabel("Workflow", { exact: true }).selectOption("slowly")
    await list.getByText("tickets/triage").first().waitFor({ state: "detached" })
    await row.getByRole("button").click()
    await nodeSays(page, "agent.step1", /running|done/)
    await page.getByRole("treeitem", { name: /^agent\.step1/ }).waitFor()
    await page.waitForURL(new RegExp(`#run=${run_id}`))
    await fetch(`${playground.address}/execute/${run_id}/cancel`, { method: "POST" })
    await status(page, /cancelled|completed/)
    await tab(page, "Runs")
    await page.getByLabel("State", { exact: true }).selectOption("ended")
    await list
      .getByText(/cancelled|done/)
      .first()
      .waitFor()
    await close()
  })

  test("look right in both themes, wide and narrow", async () => {
    const complaints: string[] = []
    for (const width of [1440, 360]) {
      const viewport = { width, height: width === 360 ? 740 : 900 }
      const { page, close } = await playground.visit({ viewport, reducedMotion: "reduce" })
      const look = lookAt(page, complaints, `${width}-`)
      await openServed(page, "tickets/triage")
      await look("served")
      if (width === 360) await tab(page, "Input")
      await page.getByRole("textbox", { name: "name" }).fill("Ada")
      await run(page)
      await status(page, /completed in/)
      if (width === 360) await tab(page, "Results")
      await tab(page, "Runs")
      await page.getByRole("region", { name: "Runs of this server" }).getByText("→").first().waitFor()
      await look("server-runs")
      await close()
    }
    assert.deepEqual(complaints, [])
  })
})
