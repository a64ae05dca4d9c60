import assert from "node:assert/strict"
import { test } from "node:test"
import type { Locator } from "playwright-core"
import { isJsonObject } from "../../../src/base/is-json-object.ts"
import type { JsonValue } from "../../../src/base/json-value.ts"
import { quoteText } from "../../../src/source/quote-text.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import {
  eventually,
  hasCount,
  hasFocus,
  node,
  nodeSays,
  openExample,
  placeOf,
  run,
  runToEnd,
  says,
  status,
  tab,
  write,
} from "../actions.ts"
import { approval, ask, output, review } from "../ask.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"
import { soakTest } from "../../support/strength.ts"

/** What would make an approval look like another one. */
const misleading = {
  yes: "true",
  really: true,
  to: "ada\u202egro.elpmaxe@\u202c",
  account: "12\u200b34\u{e0061}\u00a0",
  rows: '"}\n\nArguments\n{ "amount": 1 }',
  literal: "\\u202e",
  "שלום \u2066key": "שלום, עולם (3)",
  deep: { a: { b: { c: { d: { e: { f: { g: { amount: 1_000_000 } } } } } } } },
}

/** A value as a workflow writes it. */
function written(value: JsonValue): string {
  if (typeof value === "string") return quoteText(value)
  if (!isJsonObject(value)) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, one]) => `${quoteText(key)}: ${written(one)}`)
    .join(", ")} }`
}

export function questions(playground: Playground): void {
  test("texts of people and models that run from right to left begin at the right", async () => {
    const { page, close } = await playground.visit({ viewport: { width: 390, height: 844 } })
    await write(page, hebrew)
    await run(page)
    const card = page.getByRole("article")
    const beginsRight = (text: Locator): Promise<void> =>
      eventually(async () => assert.equal(await text.evaluate((element) => getComputedStyle(element).direction), "rtl"))
    await beginsRight(card.locator(".question-text"))
    await beginsRight(card.locator(".question-show"))
    const note = card.getByRole("textbox")
    await note.fill("שלום לכולם")
    await beginsRight(note)
    await card.getByRole("button", { name: "Answer" }).click()
    await status(page, /completed in/)
    await page.getByRole("button", { name: "Text", exact: true }).first().click()
    await beginsRight(page.locator(".read-text").first())
    await tab(page, "Timeline")
    await page.getByText("1 row", { exact: true }).waitFor()
    await close()
  })

  test("an empty text that came with an example is meant, until somebody empties another", async () => {
    const { page, close } = await playground.visit()
    await openExample(page, "Conditions")
    await runToEnd(page)
    await page.getByRole("textbox", { name: /^text/ }).first().fill("")
    await run(page)
    await page.locator(".notice", { hasText: "Not started: input.tickets[0].text is empty." }).waitFor()
    await close()
  })

  test("nothing is answered by itself, empty texts are objected to, and a run that asks is cancelled after a word", async () => {
    const { page, close } = await playground.visit({ viewport: { width: 390, height: 844 } })
    await write(page, refund)
    await run(page)
    await page.locator(".notice", { hasText: "Not started: input.order is empty." }).waitFor()
    const order = page.getByRole("textbox", { name: /^order/ })
    await hasFocus(order)
    await page.getByText(/^Nothing is written here\./).waitFor()
    await order.fill("A-17")
    await run(page)
    const card = page.getByRole("article", { name: "ask.review" })
    const answer = card.getByRole("button", { name: "Answer" })
    await answer.click()
    await card.getByText("Choose one.").waitFor()
    await card.getByText("An answer is missing here.").waitFor()
    await card.getByRole("combobox").selectOption("high")
    await answer.click()
    await hasCount(card.getByText("Choose one."), 0)
    await card.getByText("An answer is missing here.").waitFor()

    const cancel = page.getByRole("button", { name: "Cancel", exact: true })
    const [small, large] = await Promise.all([placeOf(cancel), placeOf(answer)])
    assert.ok(large.width > small.width && large.height > small.height, JSON.stringify([small, large]))
    await cancel.click()
    const asked = page.getByRole("dialog", { name: "Cancel this run?" })
    await asked.getByText("1 question is open.").waitFor()
    await asked.getByRole("button", { name: "Keep waiting" }).click()
    await card.getByRole("textbox").fill("It is broken.")
    await cancel.click()
    await asked.getByRole("button", { name: "Cancel the run" }).click()
    await status(page, /cancelled after/)
    await close()
  })

  test("a step that waits shows its clock, or its event with a form that sends it", async () => {
    const { page, close } = await playground.visit({ reducedMotion: "reduce" })
    await write(
      page,
      `wait night { seconds: 5_000_000 }
wait pause { seconds: 0.5 }
wait paid {
    after: wait.pause
    event: "payment.settled"
    key: "A-17"
    expires_seconds: 604_800
    output { status: string  amount: number }
}
output { amount: wait.paid.amount }`,
    )
    await run(page)
    await status(page, /waiting/)
    await nodeSays(page, "wait.night", /until \d+ \w+, \d\d:\d\d/)
    await nodeSays(page, "wait.paid", /payment/)
    const complaints: string[] = []
    const look = lookAt(page, complaints, "wait-")
    await node(page, "wait.night").click()
    const details = page.getByRole("region", { name: "Details" })
    await says(details, /in 57 days/)
    await says(details.locator(".details-state"), /^waiting$/)
    await look("clock")
    await node(page, "wait.paid").click()
    const form = details.getByRole("form", { name: "Event payment.settled" })
    await form.getByRole("button", { name: "Send event" }).click()
    await form.locator('[aria-invalid="true"]').first().waitFor()
    await form.getByLabel("status").fill("settled")
    await form.getByLabel("amount").fill("5")
    await look("event")
    await says(details.locator(".details-state"), /^waiting$/)
    await tab(page, "Timeline")
    const bar = (name: string): Locator => page.getByRole("treeitem", { name: new RegExp(`wait\\.${name}`) })
    await says(bar("night"), /waiting until \d+ \w+, \d\d:\d\d/)
    await says(bar("paid"), /waiting payment\.settled · A-17/)
    await says(bar("pause"), /done/)
    await look("timeline")
    assert.deepEqual(complaints, [])
    await form.getByRole("button", { name: "Send event" }).click()
    await nodeSays(page, "wait.paid", /done|completed/)
    await hasCount(form, 0)
    await says(details.locator(".details-state"), /^done/)
    await says(details.locator(".facts"), /Event\s+payment\.settled\s+Key\s+A-17\s+Expires/)
    await page.getByRole("button", { name: "Cancel" }).first().click()
    await status(page, /cancelled/)
    await close()
  })

  test("a question is answered in its form, a call is approved", async () => {
    const { page, close } = await playground.visit()
    await ask(page)
    await nodeSays(page, "ask.review", /asking/)
    await page.locator(".status", { hasText: "2 questions" }).waitFor()
    await status(page, /waiting for people/)
    await page.waitForURL(/#run=[\w-]+/)

    // Amber, as its word and icon are.
    const word = page.locator(".status .is-asking").first()
    const box = node(page, "ask.review").locator(".box")
    await eventually(async () => {
      const amber = await word.evaluate((one) => getComputedStyle(one).color)
      assert.equal(await box.evaluate((one) => getComputedStyle(one).stroke), amber)
    })

    const question = review(page)
    await question.getByText("The owl flies at night.").waitFor()
    await question.getByText("waiting for editors").waitFor()
    // The words of the workflow's author stand in place of the field's name, and types are for authors.
    const note = question.getByRole("textbox", { name: /^What should be changed\? may be left empty/ })
    await note.waitFor()
    await hasCount(question.getByText(/\b(boolean|integer|string|null)\b/), 0)
    // The cards have the room to themselves, and the button is in reach.
    await hasCount(page.getByRole("region", { name: "Details" }), 0)
    const call = approval(page)
    await eventually(async () => {
      const [pane, button] = await Promise.all([
        placeOf(page.getByRole("region", { name: "Results" })),
        placeOf(call.getByRole("button", { name: "Approve" })),
      ])
      assert.ok(button.y + button.height <= pane.y + pane.height + 1, JSON.stringify([pane, button]))
    })
    await question.getByRole("group", { name: "Shown with ask.review" }).getByText("Owls").waitFor()

    // A value that does not fit is reported at its field, and nothing is sent.
    await question.getByRole("button", { name: "Answer" }).click()
    await question.getByText(/Give a whole number\./).waitFor()
    await question.getByText(/Choose Yes or No\./).waitFor()
    await question.getByLabel(/^pages/).fill("12")
    await question.getByRole("group", { name: "publish" }).getByRole("radio", { name: "Yes" }).check()
    await question.getByLabel(/^level/).selectOption("high")
    await note.fill("Shorter, please.")
    await question.getByRole("button", { name: "Answer" }).click()
    await question.getByText("answered").waitFor()
    await nodeSays(page, "ask.review", /done/)
    await page.locator(".status", { hasText: "1 question" }).waitFor()
    await status(page, /needs approval since \d+:\d+:\d+/)
    await nodeSays(page, "dynamic.reserved", /needs approval since \d+:\d+/)
    await node(page, "ask.review").click()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByRole("list", { name: "Answer" }).getByText("Shorter, please.").waitFor()

    for (const text of [
      '"reserve"',
      '"library"',
      '"The Owl Papers"',
      '"Ada"',
      "waiting for librarians",
      "Allow library.reserve?",
    ]) {
      await call.getByText(text, { exact: true }).waitFor()
    }
    await call.getByText(/^"sha256:[0-9a-f]{64}"$/).waitFor()
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

  soakTest("an approval shows what is approved as what it is", async () => {
    const server = await tinyMcp({ pay: () => ({ content: [{ type: "text", text: "paid" }] }) })
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    await write(
      page,
      `mcp bank { endpoint: "${server.url}" }
tool pay from mcp.bank.tool.pay { approval: required }
output { done: call tool.pay { input { all: ${written(misleading)} } } }
`,
    )
    await run(page)
    const call = page.getByRole("article", { name: "approval of tool.pay" })
    const shown = call.getByRole("group", { name: "Arguments of pay" })
    await shown.waitFor()
    const text = await shown.innerText()
    assert.deepEqual(JSON.parse(text), { all: misleading })
    assert.doesNotMatch(text, /[\p{Bidi_Control}\u200b\u00a0\u{e0061}]/u)
    assert.match(text, /"yes": "true",\n\s+"really": true,/)
    const marks = await shown.locator("mark").allInnerTexts()
    assert.deepEqual(marks.slice(0, 3), ["\\u202e", "\\u202c", "\\u200b"])
    // Backslashes that the value itself has are no marks.
    assert.equal(marks.filter((mark) => mark === "\\u202e").length, 1)
    await call.getByText(/^"sha256:[0-9a-f]{64}"$/).waitFor()
    const complaints: string[] = []
    await shown.scrollIntoViewIfNeeded()
    await lookAt(page, complaints, "questions-")("misleading")
    assert.deepEqual(complaints, [])
    await close()
    await server.close()
  })
}

const refund = `input {
    order: string
}

ask review {
    question: "Refund {{ input.order }}?"

    output {
        level: enum { low, high }
        reason: string
    }
}

output {
    reason: ask.review.reason
}
`

const hebrew = `ask review {
    question: "האם לשלוח?"
    show: "מכתב לכולם"

    output {
        note: string
    }
}

output {
    note: ask.review.note
}
`
