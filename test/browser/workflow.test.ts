import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()

describe("the playground, from writing to running", () => {
  test("a first visit runs with one press of Run", async () => {
    const { page, close } = await playground.visit()
    await page.getByRole("button", { name: "Run", exact: false }).click()
    await page.locator(".status", { hasText: /completed in/ }).waitFor()
    await page.getByRole("tab", { name: "Output" }).click()
    assert.match(await page.getByRole("list", { name: "Output" }).innerText(), /greeting: Hello, Ada\./)
    await close()
  })
})
