import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually, hasCount, node, nodeSays, run, status, tab, write } from "../actions.ts"
import { approval, ask, output, review } from "../ask.ts"
import type { Playground } from "../open-playground.ts"

export function questions(playground: Playground): void {
  test("a question is answered in its form, a call is approved", async () => {
    const { page, close } = await playground.visit()
    await ask(page)
    await nodeSays(page, "ask.review", /asking/)
    await page.locator(".status", { hasText: "2 questions" }).waitFor()
    await status(page, /waiting for people/)
    await page.waitForURL(/#run=[\w-]+$/)

    // Amber, as its word and icon are.
    const word = page.locator(".status .is-asking").first()
    const box = node(page, "ask.review").locator(".box")
    await eventually(async () => {
      const amber = await word.evaluate((one) => getComputedStyle(one).color)
      assert.equal(await box.evaluate((one) => getComputedStyle(one).stroke), amber)
    })

    const question = review(page)
    await question.getByText("The owl flies at night.").waitFor()
    await question.getByText("to editors").waitFor()
    await question.getByText("What should be changed?").waitFor()
    await question.getByRole("list", { name: "Shown with ask.review" }).getByText("Owls").waitFor()

    // A value that does not fit is reported at its field, and nothing is sent.
    await question.getByRole("button", { name: "Answer" }).click()
    await question.getByText(/Missing: expected integer/).waitFor()
    await question.getByLabel(/^pages/).fill("12")
    await question.getByRole("switch", { name: /^publish/ }).click()
    await question.getByLabel(/^level/).selectOption("high")
    await question.getByRole("combobox", { name: "Kind of answer.note" }).selectOption({ label: "string" })
    await question.getByRole("group", { name: "answer.note" }).getByRole("textbox").fill("Shorter, please.")
    await question.getByRole("button", { name: "Answer" }).click()
    await question.getByText("answered").waitFor()
    await nodeSays(page, "ask.review", /done/)
    await page.locator(".status", { hasText: "1 question" }).waitFor()
    await node(page, "ask.review").click()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByRole("list", { name: "Answer" }).getByText("Shorter, please.").waitFor()

    const call = approval(page)
    for (const text of ["reserve", "library", "The Owl Papers", "Ada", "to librarians"]) {
      await call.getByText(text, { exact: true }).waitFor()
    }
    await call.getByRole("button", { name: "Approve" }).click()
    await status(page, /completed in/)
    assert.deepEqual(await output(page), {
      publish: true,
      pages: 12,
      reserved: "The Owl Papers is reserved for Ada, says the demo.",
    })
    // A run without questions does not stay on their tab.
    await tab(page, "Questions")
    await write(page, 'output { text: "An owl." }')
    await run(page)
    await page.getByRole("tab", { name: "Timeline", selected: true }).waitFor()
    await hasCount(page.getByRole("tab", { name: /^Questions/ }), 0)
    await close()
  })
}
