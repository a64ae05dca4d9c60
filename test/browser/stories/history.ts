import assert from "node:assert/strict"
import { test } from "node:test"
import {
  eventually,
  hasCount,
  hasFocus,
  hasValue,
  historyIsKept,
  node,
  nodeSays,
  openExample,
  run,
  runToEnd,
  says,
  status,
  tab,
  write,
  written,
} from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"

const twoSteps = (second: string): string => `provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
agent first { model: model.m  instruction: "Name an owl"  output { text: string } }
agent second { model: model.m  instruction: "${second} {{ agent.first.text }}"  output { text: string } }
output { text: agent.second.text }
`

export function history(playground: Playground): void {
  test("after another run a line says what changed, and compares with one click; a row of the timeline runs from there", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    await runToEnd(page)
    const since = page.getByRole("group", { name: "Since the run before" })
    await historyIsKept(page, 1)
    await hasCount(since, 0)
    await page.getByRole("textbox", { name: "name string" }).fill("Grace")
    await runToEnd(page)
    await tab(page, "Timeline")
    await says(since, /other input/)
    await since.getByRole("button", { name: "Compare" }).click()
    const dialog = page.getByRole("dialog", { name: "Two runs side by side" })
    await says(dialog, /Grace/)
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })

    await page.getByRole("treeitem", { name: /^agent\./ }).click()
    const details = page.getByRole("region", { name: "Details" })
    for (const width of [1440, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      await eventually(async () => assert.ok(((await details.boundingBox())?.width ?? 0) >= 420))
    }
    const complaints: string[] = []
    await lookAt(page, complaints)("since-the-run-before")
    assert.deepEqual(complaints, [])
    await page.getByRole("button", { name: /^Run from agent\./ }).click()
    await historyIsKept(page, 3)
    await close()
  })

  test("earlier runs are looked at again after a reload, restored and compared", async () => {
    const { page, close } = await playground.visit()
    await runToEnd(page)
    await page.getByRole("textbox", { name: "name" }).fill("Grace")
    await run(page)
    await historyIsKept(page, 2)
    await openExample(page, "Chain")
    await page.reload()
    await tab(page, "History")
    const rows = page.getByRole("list", { name: "Earlier runs" }).getByRole("listitem")
    await hasCount(rows, 2)
    await says(rows.nth(1), /Hello\s+\d+ \w+, [\d:]{8}\s[^]*name: Ada\s[^]*greeting: Hello, Ada\./)
    await rows
      .nth(1)
      .getByRole("button", { name: /^Label/ })
      .click()
    await hasFocus(rows.nth(1).getByRole("textbox"))
    await page.keyboard.type("the first one")
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: /^Look at the first one/ }).waitFor()
    await historyIsKept(page, 2, "the first one")
    await page.reload()
    await tab(page, "History")
    await page.getByRole("button", { name: /^Look at the first one/ }).click()
    await page.getByRole("treeitem", { name: /^agent\.greeter/ }).waitFor()
    await tab(page, "Output")
    await page.getByText("Hello, Ada.").waitFor()

    await tab(page, "History")
    for (const at of [0, 1]) await rows.nth(at).getByRole("checkbox").check()
    await page.getByRole("button", { name: "Compare the two" }).click()
    const comparison = page.getByRole("dialog", { name: "Two runs side by side" })
    await says(comparison, /greeting\s+Hello, Ada\.\s+Hello, Grace\./)
    await says(comparison, /name\s+Ada\s+Grace/)
    await says(comparison, /Source\s+The same\./)
    const step = comparison.getByRole("region", { name: "agent.greeter" })
    await says(step.getByRole("list", { name: "Instruction" }), /Greet Ada[^]*Greet Grace/)
    await says(step, /greeting\s+Hello, Ada\.\s+Hello, Grace\./)
    await page.keyboard.press("Escape")

    await rows
      .nth(0)
      .getByRole("button", { name: /^Restore/ })
      .click()
    await hasValue(page.getByRole("textbox", { name: "name" }), "Grace")
    await written(page, /agent greeter/)
    // Clearing asks once more.
    await page.getByRole("button", { name: "Clear" }).click()
    await page.getByRole("button", { name: "Clear 2 runs?" }).click()
    await page.getByText("Runs of this browser are listed here").waitFor()
    await close()
  })

  test("the changed steps alone run again, counted and marked before; a step runs again from its menu", async () => {
    const { page, close } = await playground.visit()
    await write(page, twoSteps("Praise"))
    await hasCount(page.getByRole("button", { name: /^Run .* changed step/ }), 0)
    await runToEnd(page)
    await hasCount(page.getByRole("button", { name: /changed/ }), 0)
    await hasCount(page.locator(".node.would-run"), 0)
    await write(page, twoSteps("Scold"))
    await page.locator('.node.would-run[data-node="agent.second"]').waitFor()
    await hasCount(page.locator('.node.would-run[data-node="agent.first"]'), 0)
    const before = await page.evaluate(() => location.hash)
    await page.getByRole("button", { name: "Run 1 changed step", exact: true }).click()
    await page.waitForFunction((hash) => location.hash !== hash, before)
    await status(page, /completed in/)
    await nodeSays(page, "agent.first", /reused/)
    // The comparison says what was paid for, and what was not paid for again.
    await historyIsKept(page, 2)
    await page.getByRole("group", { name: "Since the run before" }).getByRole("button", { name: "Compare" }).click()
    const dialog = page.getByRole("dialog", { name: "Two runs side by side" })
    await says(dialog.getByRole("row", { name: /^Tokens/ }), /^Tokens\s+\d+\s+\d+ new \+ \d+ reused$/)
    await page.keyboard.press("Escape")
    const rerun = await page.evaluate(() => location.hash)
    await node(page, "agent.first").click({ button: "right" })
    await page.getByRole("menuitem", { name: "Run from here" }).click()
    await page.waitForFunction((hash) => location.hash !== hash, rerun)
    await status(page, /completed in/)
    await close()
  })
}
