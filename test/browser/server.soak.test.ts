import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { nodeSays, run, runToEnd, status, tab } from "./actions.ts"
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
    const row = list.getByRole("row", { name: /slowly/ })
    await row.waitFor()
    await page.getByLabel("Workflow", { exact: true }).selectOption("slowly")
    await list.getByRole("row", { name: /tickets/ }).waitFor({ state: "detached" })
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
      await page.getByRole("region", { name: "Runs of this server" }).getByRole("row").nth(1).waitFor()
      await look("server-runs")
      await close()
    }
    assert.deepEqual(complaints, [])
  })
})
