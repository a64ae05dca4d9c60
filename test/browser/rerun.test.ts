import { describe, test } from "node:test"
import { hasCount, node, nodeSays, runToEnd, status, write } from "./actions.ts"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()

const source = (second: string): string => `provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
agent first { model: model.m  instruction: "Name an owl"  output { text: string } }
agent second { model: model.m  instruction: "${second} {{ agent.first.text }}"  output { text: string } }
output { text: agent.second.text }
`

describe("re-runs", () => {
  test("Run changes runs what changed, and marks it before; a node runs from its menu", async () => {
    const { page, close } = await playground.visit()
    await write(page, source("Praise"))
    await hasCount(page.getByRole("button", { name: "Run changes" }), 0)
    await runToEnd(page)
    await page.getByRole("button", { name: "Run changes" }).waitFor()
    await hasCount(page.locator(".node.would-run"), 0)
    await write(page, source("Scold"))
    await page.locator('.node.would-run[data-node="agent.second"]').waitFor()
    await hasCount(page.locator('.node.would-run[data-node="agent.first"]'), 0)
    if (process.env["SHOTS"] !== undefined) await page.screenshot({ path: `${process.env["SHOTS"]}/changes.png` })
    const before = await page.evaluate(() => location.hash)
    await page.getByRole("button", { name: "Run changes" }).click()
    await page.waitForFunction((hash) => location.hash !== hash, before)
    await status(page, /completed in/)
    await nodeSays(page, "agent.first", /reused/)
    const rerun = await page.evaluate(() => location.hash)
    await node(page, "agent.first").click({ button: "right" })
    if (process.env["SHOTS"] !== undefined) await page.screenshot({ path: `${process.env["SHOTS"]}/menu.png` })
    await page.getByRole("menuitem", { name: "Run from here" }).click()
    await page.waitForFunction((hash) => location.hash !== hash, rerun)
    await status(page, /completed in/)
    await close()
  })
})
