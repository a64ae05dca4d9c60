import assert from "node:assert/strict"
import { test } from "node:test"
import { copied, eventually, hasCount, hasFocus, historyIsKept, openExample, runToEnd, says } from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"

export function help(playground: Playground): void {
  test("Ctrl K zooms the graph, copies the selected call as curl, and clears the history after one more question", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    const palette = page.getByRole("dialog", { name: "Commands" })
    const command = async (words: string): Promise<void> => {
      await page.keyboard.press("Control+k")
      await palette.getByRole("combobox", { name: "Find a command" }).fill(words)
      await hasCount(palette.getByRole("option"), 1)
      await palette.getByRole("option").click()
    }
    const zoom = page.locator(".zoom")
    await says(zoom, /^100 %$/)
    await command("zoom into")
    await says(zoom, /^125 %$/)
    await command("zoom out of")
    await command("zoom out of")
    await says(zoom, /^80 %$/)
    await command("fit the graph")
    await says(zoom, /^100 %$/)
    // Without a call that is selected there is none to copy.
    await page.keyboard.press("Control+k")
    await palette.getByRole("combobox", { name: "Find a command" }).fill("curl")
    await hasCount(palette.getByRole("option", { name: "Copy the selected call as curl" }), 0)
    await page.keyboard.press("Escape")
    await runToEnd(page)
    await historyIsKept(page, 1)
    // Of a step, its model call.
    await page.getByRole("treeitem", { name: /^agent\./ }).click()
    await page.keyboard.press("Control+k")
    const option = palette.getByRole("option", { name: "Copy the selected call as curl" })
    const curl = await copied(page, option, "Request as curl copied.")
    assert.match(curl, /^curl -X POST 'http:[^']+\/responses'[^]*Greet Ada/)
    await command("clear history")
    await hasFocus(page.getByRole("button", { name: "Clear 1 run?" }))
    await historyIsKept(page, 1)
    await page.keyboard.press("Enter")
    await page.getByText("Runs of this browser are listed here").waitFor()
    await close()
  })

  test("? explains the page, Ctrl K does everything by its name, and the title of the page says how the run is", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    const complaints: string[] = []
    const look = lookAt(page, complaints)
    await page.locator("h1").click()
    await page.keyboard.press("?")
    const sheet = page.getByRole("dialog", { name: "Help" })
    await says(sheet, /Ctrl K\s+All commands/)
    await look("help")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+k")
    const palette = page.getByRole("dialog", { name: "Commands" })
    const field = palette.getByRole("combobox", { name: "Find a command" })
    await hasFocus(field)
    await look("palette")
    await field.fill("show events")
    await hasCount(palette.getByRole("option"), 1)
    await page.keyboard.press("Enter")
    await page.getByRole("tab", { name: "Events", selected: true }).waitFor()
    await runToEnd(page)
    await historyIsKept(page, 1)
    await runToEnd(page)
    await historyIsKept(page, 2)
    // The palette offers what can be done now: two runs are compared, and the workflows of the server are opened.
    await page.keyboard.press("Control+k")
    await palette.getByRole("option", { name: "Open the server's workflow tickets/triage" }).waitFor()
    for (const name of ["Copy the result", "Download this file", "Rename this file", "Show: Reach of this workflow"]) {
      await hasCount(palette.getByRole("option", { name: new RegExp(`^${name}`) }), 1)
    }
    await field.fill("compare")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog", { name: "Two runs side by side" }).waitFor()
    await page.keyboard.press("Escape")
    await eventually(async () => assert.equal(await page.title(), "completed · Hello · wireworks"))
    await page.getByRole("button", { name: "Open", exact: true }).click()
    await page.getByText("Workflows of this server").waitFor()
    await look("open-menu")
    await page.keyboard.press("Escape")
    await openExample(page, "Chain")
    await eventually(async () => assert.equal(await page.title(), "Chain · wireworks"))
    await close()
    assert.deepEqual(complaints, [])
  })
}
