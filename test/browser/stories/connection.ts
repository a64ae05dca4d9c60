import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually, nodeSays, run, status, tab, write, written } from "../actions.ts"
import { startHeldModel } from "../held-model.ts"
import { networkErrors, throughProxy } from "../through-proxy.ts"
import type { Playground } from "../open-playground.ts"
import { soakTest } from "../../support/strength.ts"

export function connection(playground: Playground): void {
  test("a connection that drops in the middle is made again, and the timeline is complete", async () => {
    const proxy = await throughProxy(playground)
    const model = await startHeldModel()
    const { page, close } = await playground.visit({ address: proxy.origin, expected: networkErrors })
    await write(page, model.chain(2))
    await run(page)
    await nodeSays(page, "agent.step1", /running/)
    proxy.cut()
    await status(page, /reconnecting/)
    // Some of it happens while nobody listens.
    model.letAllGo()
    proxy.restore()
    await status(page, /completed in/)
    for (const name of [/^agent\.step1/, /^agent\.step2/]) await page.getByRole("treeitem", { name }).waitFor()
    await tab(page, "Events")
    await page.getByRole("button", { name: /text chunk/ }).click()
    await eventually(async () => {
      const ids = await page.locator(".event-id").allInnerTexts()
      assert.ok(ids.length > 5, ids.join(" "))
      assert.deepEqual(
        ids,
        ids.map((_, at) => String(at + 1)),
      )
    })
    await page.getByRole("listbox", { name: "Events" }).press("End")
    await page.getByRole("option", { name: /workflow_completed/, selected: true }).waitFor()
    assert.equal(proxy.requests.filter((request) => request.startsWith("POST /execute")).length, 1)
    assert.equal(proxy.requests.filter((request) => /^GET \S+\/events/.test(request)).length, 1)
    await close()
  })

  soakTest("a reload in the middle finds the run again, with the text and input that it runs with", async () => {
    const model = await startHeldModel()
    const { page, requests, close } = await playground.visit()
    await write(page, model.chain(2))
    await run(page)
    await nodeSays(page, "agent.step1", /running/)
    // The clock goes on from where it was.
    const shown = async (): Promise<number> =>
      Number(/running ([\d.]+) s/.exec(await status(page, /running [\d.]+ s/))?.[1])
    const before = await shown()
    await page.reload()
    assert.ok((await shown()) >= before)
    model.letOneGo()
    await nodeSays(page, "agent.step2", /running/)
    await nodeSays(page, "agent.step1", /done/)
    await page.getByRole("button", { name: "Cancel" }).waitFor()
    await written(page, /agent step2/)
    model.letOneGo()
    await status(page, /completed in/)
    await tab(page, "Output")
    await page.getByRole("list", { name: "Output" }).waitFor()
    assert.equal(requests.filter((request) => request.method() === "POST").length, 1)
    await close()
  })
}
