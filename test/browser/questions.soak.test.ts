import assert from "node:assert/strict"
import { describe, test } from "node:test"
import type { Locator, Page } from "playwright-core"
import { hasCount, node, nodeSays, run, says, status, tab, write } from "./actions.ts"
import { approval, ask, fillReview, output, review, source } from "./ask.ts"
import { lookAt } from "./look-at.ts"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()

describe("questions", () => {
  test("by keyboard: from the header to the card, and a call is declined", async () => {
    const { page, close } = await playground.visit()
    await ask(page)
    await page.getByRole("button", { name: "2 questions" }).focus()
    await page.keyboard.press("Enter")
    await node(page, "ask.review").focus()
    await page.keyboard.press("Enter")
    await page.waitForFunction(() => document.activeElement?.matches("article.question") === true)
    const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? "")
    const tabTo = async (target: Locator): Promise<void> => {
      for (let tries = 0; tries < 40; tries++) {
        await page.keyboard.press("Tab")
        if (await target.evaluate((one) => one === document.activeElement)) return
      }
      assert.fail(`Not reached by Tab; the focus is at ${await focused()}`)
    }
    const question = review(page)
    await tabTo(question.getByRole("group", { name: "publish" }).getByRole("radio", { name: "Yes" }))
    await page.keyboard.press("Space")
    await tabTo(question.getByLabel(/^level/))
    await page.keyboard.type("low")
    await tabTo(question.getByLabel(/^pages/))
    await page.keyboard.type("3")
    await page.keyboard.press("Enter")
    await question.getByText("answered").waitFor()
    const call = approval(page)
    // The keyboard goes on with the question that is left.
    const card = await call.elementHandle()
    await page.waitForFunction((one) => document.activeElement === one, card)
    await tabTo(call.getByLabel(/^Note/))
    await page.keyboard.type("Not today")
    await tabTo(call.getByRole("button", { name: "Decline" }))
    await page.keyboard.press("Enter")
    await status(page, /failed after/)
    await tab(page, "Timeline")
    await page
      .getByRole("group", { name: "Error" })
      .getByText(/declined.*Not today/)
      .first()
      .waitFor()
    await close()
  })

  test("a second browser opens the run by its address and sees the answers as they happen; a reload keeps the question", async () => {
    const first = await playground.visit()
    await ask(first.page)
    const { hash } = new URL(first.page.url())
    const second = await playground.visit({ path: `/playground${hash}` })
    await review(second.page).waitFor()
    await nodeSays(second.page, "ask.review", /asking/)

    await first.page.reload()
    await review(first.page).waitFor()
    await approval(first.page).waitFor()

    await fillReview(second.page, "7")
    await review(second.page).getByRole("button", { name: "Answer" }).click()
    await review(first.page).getByText("answered").waitFor()
    await nodeSays(first.page, "ask.review", /done/)

    await approval(first.page).getByRole("button", { name: "Approve" }).click()
    await status(first.page, /completed in/)
    await status(second.page, /completed in/)
    assert.deepEqual(await output(second.page), await output(first.page))
    await first.close()
    await second.close()
  })

  test("the card of an answer that came too late says so", async () => {
    const { page, close } = await playground.visit({ expected: /409/ })
    await ask(page)
    const run_id = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("run") ?? ""
    const questions = (await (await fetch(`${playground.address}/execute/${run_id}/questions`)).json()) as {
      questions: { id: string; kind: string }[]
    }
    const id = questions.questions.find(({ kind }) => kind === "ask")?.id ?? ""
    const answer = { publish: false, note: null, level: "low", pages: 1 }
    // Somebody else is faster by a moment.
    await page.route(`**/questions/${id}`, async (route) => {
      await fetch(`${playground.address}/execute/${run_id}/questions/${id}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ answer }),
      })
      await route.continue()
    })
    await fillReview(page, "2")
    await review(page).getByRole("button", { name: "Answer" }).click()
    await says(review(page).getByRole("alert"), /answered/)
    await nodeSays(page, "ask.review", /done/)
    await close()
  })
})

describe("with keys and groups", () => {
  const key = async (page: Page, text: string): Promise<void> => {
    const dialog = page.getByRole("dialog", { name: "This service asks for an API key" })
    await dialog.getByRole("textbox", { name: "API key" }).fill(text)
    await page.keyboard.press("Enter")
  }

  test("a caller who may not answer sees whose question it is; one who may not see the run sees nothing of it", async () => {
    const env = { WIRE_API_KEYS: "ann:key-of-ann,bob:key-of-bob", WIRE_GROUPS: "editors:bob" }
    const locked = await openPlayground(env)
    const ann = await locked.visit({ expected: /401|403|404/ })
    await write(ann.page, source)
    await run(ann.page)
    await key(ann.page, "key-of-ann")
    await fillReview(ann.page, "2")
    await review(ann.page).getByRole("button", { name: "Answer" }).click()
    await review(ann.page)
      .getByRole("alert")
      .getByText("Only members of the group editors answer this question")
      .waitFor()
    // The other one goes to nobody's group: it is the caller's own.
    await approval(ann.page).getByRole("button", { name: "Approve" }).click()
    await approval(ann.page).getByText("answered").waitFor()

    const bob = await locked.visit({ path: `/playground${new URL(ann.page.url()).hash}`, expected: /401|404/ })
    await key(bob.page, "key-of-bob")
    await status(bob.page, /not found/)
    await hasCount(review(bob.page), 0)
    await ann.close()
    await bob.close()
  })
})

for (const [width, height] of [
  [1440, 900],
  [360, 740],
] as const) {
  test(`cards at ${width} px: no complaint of axe in either theme, nothing beyond a narrow edge`, async () => {
    const { page, close } = await playground.visit({
      viewport: { width, height },
      colorScheme: "light",
      reducedMotion: "reduce",
    })
    const complaints: string[] = []
    const see = lookAt(page, complaints, `questions-${width}-`)
    await ask(page)
    await see("open")
    await review(page).getByRole("button", { name: "Answer" }).click()
    await review(page)
      .getByText(/Give a whole number\./)
      .waitFor()
    await see("wrong")
    await approval(page).getByRole("button", { name: "Decline" }).scrollIntoViewIfNeeded()
    await see("approval")
    if (width < 600) {
      await tab(page, "Graph")
      await see("graph")
      await tab(page, "Results")
    }
    await fillReview(page, "2")
    await review(page).getByRole("button", { name: "Answer" }).click()
    await review(page).getByText("answered").waitFor()
    await see("answered")
    await close()
    assert.deepEqual(complaints, [])
  })
}
