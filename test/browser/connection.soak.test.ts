import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { nodeSays, run, runToEnd, status, tab, write } from "./actions.ts"
import { startHeldModel } from "./held-model.ts"
import { lookAt } from "./look-at.ts"
import { openPlayground } from "./open-playground.ts"
import { networkErrors, throughProxy } from "./through-proxy.ts"

const playground = await openPlayground()
describe("a run and its connection", { concurrency: 3 }, () => {
  test("without a connection the page says so, and Cancel frees it before and during a run", async () => {
    const proxy = await throughProxy(playground)
    const { page, close } = await playground.visit({
      address: proxy.origin,
      expected: networkErrors,
      reducedMotion: "reduce",
    })
    const complaints: string[] = []
    const look = lookAt(page, complaints)
    const runButton = page.getByRole("button", { name: "Run", exact: true })
    proxy.cut()
    await run(page)
    assert.doesNotMatch(await status(page, /not connected, try/), /reconnecting/)
    await page.getByText("The service has not answered yet.").first().waitFor()
    await look("not-connected")
    await page.getByRole("button", { name: "Cancel" }).click()
    await runButton.waitFor()
    await status(page, /no answer/)
    await tab(page, "Output")
    await page.getByText("Cancelled before the service answered", { exact: true }).waitFor()
    // A run that began when nothing answered goes on once something does.
    await run(page)
    await status(page, /not connected, try/)
    proxy.restore()
    await status(page, /completed in/)

    const model = await startHeldModel()
    await write(page, model.chain(2))
    await run(page)
    await nodeSays(page, "agent.step1", /running/)
    proxy.cut()
    await status(page, /connection lost, reconnecting/)
    await page.getByRole("button", { name: "Cancel" }).click()
    await runButton.waitFor()
    await status(page, /not connected/)
    await nodeSays(page, "agent.step1", /unknown/)
    await tab(page, "Timeline")
    await page.getByRole("treeitem", { name: /^agent\.step1 unknown/ }).waitFor()
    await look("lost")
    proxy.restore()
    model.letAllGo()
    await page.getByRole("button", { name: "Connect again" }).first().click()
    await status(page, /completed in/)
    await close()
    assert.deepEqual(complaints, [])
  })
})

describe("a service that asks for an API key", () => {
  test("the key is asked for, tried again when wrong, and not kept", async () => {
    const locked = await openPlayground({ WIRE_API_KEYS: "ann:the-right-key" })
    const { page, context, close } = await locked.visit({ expected: /401/, reducedMotion: "reduce" })
    await run(page)
    const dialog = page.getByRole("dialog", { name: "This service asks for an API key" })
    await dialog.getByRole("textbox", { name: "API key" }).fill("wrong")
    await dialog.getByRole("button", { name: "Use this key" }).click()
    await dialog.getByText("The key was not accepted.").waitFor()
    const complaints: string[] = []
    await lookAt(page, complaints)("key")
    assert.deepEqual(complaints, [])
    await dialog.getByRole("textbox", { name: "API key" }).fill("the-right-key")
    await page.keyboard.press("Enter")
    await status(page, /completed in/)
    const kept = JSON.stringify(await context.storageState({ indexedDB: true }))
    assert.doesNotMatch(kept, /the-right-key/)
    // Gone with the page: a reload asks for it, to find the run again.
    await page.reload()
    await dialog.getByRole("textbox", { name: "API key" }).fill("the-right-key")
    await page.keyboard.press("Enter")
    await status(page, /completed in/)
    await runToEnd(page)
    await close()
  })
})
