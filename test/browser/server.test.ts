import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, test } from "node:test"
import type { Page } from "playwright-core"
import { editor, hasCount, nodeSays, run, runToEnd, slowChain, status, tab, write, written } from "./actions.ts"
import { lookAt } from "./look-at.ts"
import { openPlayground } from "./open-playground.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-served-"))
after(() => rmSync(folder, { recursive: true, force: true }))
const hello = readFileSync(join(import.meta.dirname, "..", "..", "examples", "hello.wire"), "utf8")
mkdirSync(join(folder, "tickets"))
writeFileSync(join(folder, "tickets", "triage.wire"), `// Sorts a ticket.\n${hello}`)
writeFileSync(join(folder, "slowly.wire"), slowChain(1))
writeFileSync(join(folder, "broken.wire"), "agent {\n")

const playground = await openPlayground({ WIRE_WORKFLOWS: folder })

async function openServed(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^Examples/ }).click()
  await page.getByRole("menuitemradio", { name: new RegExp(`^${name}`) }).click()
  await page.getByText(`The server's workflow ${name}`).waitFor()
}

describe("the workflows of the server", () => {
  test("are opened read-only, run by name, and edited as a copy", async () => {
    const { page, close } = await playground.visit()
    await openServed(page, "tickets/triage")
    await written(page, /Sorts a ticket/)
    await write(page, "output { a: 1 }")
    await written(page, /Sorts a ticket/)
    await page.getByRole("textbox", { name: "name" }).fill("Ada")
    await runToEnd(page)
    await nodeSays(page, "agent.greeter", /done/)
    await page.getByRole("button", { name: "Edit a copy" }).click()
    await editor(page).focus()
    await write(page, "output { a: 1 }")
    await written(page, "output { a: 1 }")
    await hasCount(page.getByText("The server's workflow"), 0)
    await close()
  })

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
