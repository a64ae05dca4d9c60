import assert from "node:assert/strict"
import { test } from "node:test"
import { editor, eventually, hasCount, hasFocus, node, openExample, runToEnd } from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"
import { soakTest } from "../../support/strength.ts"

export function views(playground: Playground): void {
  test("axe has no complaint of the page, before a run and after it, in both themes", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    const complaints: string[] = []
    const look = lookAt(page, complaints, "story-")
    await look("first-visit")
    await runToEnd(page)
    await node(page, "agent.greeter").click()
    await look("ran")
    await close()
    assert.deepEqual(complaints, [])
  })

  test("the Tab key comes to one step of the graph, and arrows go from step to step", async () => {
    const { page, close } = await playground.visit()
    await openExample(page, "Fan-out and join")
    const stops = page.locator('.graph .node[tabindex="0"]')
    await hasCount(page.locator(".graph .node"), 5)
    await hasCount(stops, 1)
    await node(page, "agent.gaps").focus()
    await page.keyboard.press("ArrowRight")
    await hasFocus(node(page, "agent.editor"))
    await page.keyboard.press("ArrowRight")
    await hasFocus(node(page, "output"))
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "agent.editor" }).waitFor()
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("End")
    await hasFocus(node(page, "output"))
    await hasCount(stops, 1)
    await close()
  })

  soakTest("by keyboard alone: from the first tab stop to a selected step, announced on the way", async () => {
    const { page, close } = await playground.visit()
    const focused = (): Promise<string> =>
      page.evaluate(() => {
        const element = document.activeElement
        return element?.getAttribute("aria-label") ?? element?.textContent ?? ""
      })
    const tabTo = async (name: RegExp): Promise<void> => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press("Tab")
        if (name.test(await focused())) return
      }
      assert.fail(`Tab never came to ${name.source}`)
    }
    // The first stops lead past the header.
    await tabTo(/^Skip to the results$/)
    await page.keyboard.press("Enter")
    await eventually(async () => assert.match(await focused(), /^Timeline/))
    await page.reload()
    await editor(page).waitFor()
    await tabTo(/^Open$/)
    await page.keyboard.press("Enter")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Escape")
    await eventually(async () => assert.match(await focused(), /^Open$/))
    await tabTo(/^Run/)
    await page.keyboard.press("Enter")
    await page.locator("[aria-live]", { hasText: /Run completed in/ }).waitFor({ state: "attached" })
    // Past the second part of the button into the editor, and out of it again.
    const inEditor = (): Promise<boolean> => page.evaluate(() => (document.activeElement?.shadowRoot ?? null) !== null)
    for (let presses = 0; presses < 12 && !(await inEditor()); presses++) await page.keyboard.press("Tab")
    await page.keyboard.press("Escape")
    await tabTo(/^greeter done/)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "agent.greeter" }).waitFor()
    await tabTo(/^Timeline/)
    await page.keyboard.press("ArrowRight")
    await page.getByRole("tab", { name: "Output", selected: true }).waitFor()
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("Tab")
    await page.keyboard.press("ArrowDown")
    await page.getByRole("treeitem", { name: /^model call/, selected: true }).waitFor()
    await close()
  })
}
