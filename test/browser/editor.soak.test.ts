import assert from "node:assert/strict"
import { describe, test } from "node:test"
import type { Page } from "playwright-core"
import {
  cursorAt,
  editor,
  eventually,
  hasCount,
  hasFocus,
  pointAt,
  refused,
  run,
  understood,
  write,
  written,
} from "./actions.ts"
import { greeter } from "./greeter.ts"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()

/** The colour of the first piece of text that says this. */
function colourOf(page: Page, text: string): Promise<string> {
  const piece = editor(page).locator("span", { hasText: new RegExp(`^${text}$`) })
  return piece.last().evaluate((element) => getComputedStyle(element).color)
}

describe("the editor", { concurrency: 2 }, () => {
  test("colours the language by its own lexer and checker", async () => {
    const { page, close } = await playground.visit()
    await write(page, greeter)
    await understood(page)
    const words = ["provider", "string", "/// Who is greeted", "model", '"demo"']
    await eventually(async () => {
      const colours = await Promise.all(words.map((word) => colourOf(page, word)))
      assert.equal(new Set(colours).size, words.length, colours.join(", "))
    })
    await close()
  })

  test("is as wide as its column, however long the sentence of a problem is", async () => {
    const { page, close } = await playground.visit()
    const width = async (): Promise<number> => (await editor(page).boundingBox())?.width ?? assert.fail()
    await write(page, greeter)
    await understood(page)
    const before = await width()
    const acts = `input { words: untrusted string, rows: [{ o: { t: untrusted string }, kids: [{ p: private string }] }] }
api shop { endpoint: "https://shop.example" }
tool refund from api.shop."POST /refund" { requires: trusted  input { words: string } }
output { r: call tool.refund { input { words: input.words } }
         s: call tool.refund { input { words: json(input.rows.*.o.t) } } }
`
    await write(page, acts)
    await page
      .getByRole("region", { name: "Problems" })
      .getByRole("button", { name: /^tool\.refund acts on trusted words only/ })
      .waitFor()
    assert.equal(await width(), before)
    await close()
  })

  test("fixes what it can: from the tooltip, from the list, and by keyboard; each code leads to its entry in the docs", async () => {
    const { page, context, close } = await playground.visit()
    const broken = greeter.replace("agent.greeter.greeting", "agent.greter.greeting")
    const fixed = async (): Promise<void> => {
      await page.getByText("No problems").waitFor()
      await written(page, greeter)
    }
    await write(page, broken)
    const fix = page.locator(".cm-tooltip-lint").getByRole("button", { name: /agent\.greeter/ })
    await pointAt(page, () => editor(page).locator(".cm-lintRange-error").hover(), fix)
    await fix.click()
    await fixed()

    await write(page, broken)
    // The first message is there before anything is opened.
    const problems = page.getByRole("region", { name: "Problems" })
    await problems.getByRole("button", { name: "Unknown reference: agent.greter.greeting" }).waitFor()
    await editor(page).press("Control+Shift+M")
    const listed = problems.getByRole("listitem").getByRole("button", { name: /^Unknown reference|error/ })
    await hasFocus(listed)
    // Escape goes back to the text; from elsewhere the list is as near.
    await page.keyboard.press("Escape")
    await hasFocus(editor(page))
    await hasCount(listed, 0)
    await page.getByRole("button", { name: "Share" }).press("Control+Shift+M")
    await hasFocus(listed)
    const link = problems.getByRole("link", { name: "unknown-reference" })
    const [docs] = await Promise.all([context.waitForEvent("page"), link.click()])
    await docs.locator("h3:target", { hasText: "unknown-reference" }).waitFor()
    await docs.close()
    await listed.press("Tab")
    await page.keyboard.press("Enter")
    await fixed()

    await write(page, broken)
    // A refusal leaves as soon as it is no longer true.
    await refused(page, () => run(page))
    await hasFocus(editor(page))
    await page.keyboard.press("Control+.")
    const menu = page.getByRole("menu", { name: "Quick fixes" })
    await menu.getByRole("menuitem", { name: /^About unknown-reference/ }).waitFor()
    await page.keyboard.press("Enter")
    await fixed()
    await page.locator(".notice").waitFor({ state: "detached" })
    await hasFocus(editor(page))
    await close()
  })

  test("shows types and doc comments where one points", async () => {
    const { page, close } = await playground.visit()
    await write(page, greeter)
    await understood(page)
    const line = editor(page).locator(".cm-line", { hasText: "instruction:" })
    const point = async (): Promise<void> => {
      const { x, y } = await line.evaluate((element) => {
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
        for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
          const at = node.nodeValue?.indexOf("name") ?? -1
          if (at < 0) continue
          const range = document.createRange()
          range.setStart(node, at)
          range.setEnd(node, at + 4)
          const box = range.getBoundingClientRect()
          return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
        }
        throw new Error("not there")
      })
      await page.mouse.move(x, y)
    }
    await pointAt(page, point, page.locator(".wire-hover", { hasText: /name: string[^]*Who is greeted/ }))
    await close()
  })

  test("goes to a definition, and renames everywhere", async () => {
    const { page, close } = await playground.visit()
    await write(page, greeter)
    await cursorAt(page, "greeter.greeting")
    await page.keyboard.press("F12")
    await page.keyboard.press("F2")
    const dialog = page.getByRole("dialog", { name: "Rename greeter" })
    await dialog.getByRole("textbox", { name: "New name" }).fill("not a name")
    await page.keyboard.press("Enter")
    await dialog.getByText(/made of letters/).waitFor()
    await dialog.getByRole("textbox", { name: "New name" }).fill("welcome")
    await page.keyboard.press("Enter")
    await dialog.waitFor({ state: "detached" })
    await written(page, greeter.replaceAll("greeter", "welcome"))
    await hasFocus(editor(page))
    await page.keyboard.press("ControlOrMeta+z")
    await written(page, greeter)
    await close()
  })

  test("folds a block away and back", async () => {
    const { page, close } = await playground.visit()
    await write(page, greeter)
    await understood(page)
    await cursorAt(page, "greeter {")
    await page.keyboard.press("Control+Shift+BracketLeft")
    await page.locator(".cm-foldPlaceholder").waitFor()
    await written(page, /^(?![^]*instruction)/)
    await page.keyboard.press("Control+Shift+BracketRight")
    await written(page, /instruction/)
    await close()
  })

  test("formats with Ctrl+S, and says why it cannot", async () => {
    const { page, close } = await playground.visit()
    const squeezed = greeter.replace(
      "    /// Who is greeted\n    name: string\n",
      " /// Who is greeted\n name:   string\n\n\n",
    )
    await write(page, squeezed)
    await page.keyboard.press("ControlOrMeta+s")
    await written(page, greeter)
    await write(page, "agent {")
    await refused(page, () => page.keyboard.press("ControlOrMeta+s"), /^Not formatted: fix line 1 first/)
    await written(page, "agent {")
    await close()
  })

  test("indents what is typed, and lets go of the keyboard with Escape and Tab", async () => {
    const { page, close } = await playground.visit()
    await write(page, "")
    await page.keyboard.type("input {\nname: string\n")
    await written(page, "input {\n    name: string\n    \n}")
    // A word that is typed whole needs no completion: Enter breaks the line, whether the list is open or not.
    await page.keyboard.type("age: integer")
    await page.getByRole("option", { name: "integer" }).waitFor()
    await page.waitForTimeout(100) // The editor ignores keys for the list in its first 75 ms.
    await page.keyboard.press("Enter")
    await written(page, "input {\n    name: string\n    age: integer\n    \n}")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Tab")
    await eventually(async () => assert.ok(await editor(page).evaluate((element) => !element.matches(":focus"))))
    await close()
  })

  test("goes on checking when its worker fails: with another one, then in the page, which says so", async () => {
    const { page, close } = await playground.visit({ expected: /The worker breaks/ })
    const broken = greeter.replace("agent.greeter.greeting", "agent.greter.greeting")
    const problem = page.getByRole("button", { name: "Unknown reference: agent.greter.greeting" })
    const sentence = page.getByText("failed twice")
    const breakWorker = async (): Promise<void> => {
      await eventually(async () => assert.equal(page.workers().length, 1))
      const [worker] = page.workers()
      await worker?.evaluate(() => {
        setTimeout(() => {
          throw new Error("The worker breaks")
        })
      })
      await eventually(async () => assert.ok(!page.workers().some((one) => one === worker)))
    }
    await write(page, broken)
    await problem.waitFor()
    await breakWorker()
    await write(page, greeter)
    await understood(page)
    await hasCount(sentence, 0)
    // The page says it for some seconds.
    await Promise.all([sentence.waitFor(), breakWorker()])
    await write(page, broken)
    await problem.waitFor()
    assert.equal(page.workers().length, 0)
    await cursorAt(page, "agent.greter")
    await page.keyboard.press("Control+.")
    await page.getByRole("menuitem", { name: /agent\.greeter/ }).click()
    await understood(page)
    await written(page, greeter)
    await close()
  })
})
