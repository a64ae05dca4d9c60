import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually, hasCount, says, tab, write } from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"

const source = `input {
    mail: untrusted string
    customer: private string
    order: string
}

provider llm from openai {
    endpoint: "demo"
    cleared: private
}

model demo from llm {
    id: "demo"
}

mcp library {
    endpoint: "demo"
}

tool reserve from mcp.library.tool.reserve {
    requires: trusted
    cleared: private
}

agent sort {
    model: model.demo
    instruction: "What does this want? {{ input.mail }}"

    output {
        wants: enum { book, nothing }
        words: string
    }
}

agent greet {
    model: model.demo
    instruction: "Greet {{ input.customer }}, who wrote {{ agent.sort.words }}"

    output {
        text: string
    }
}

dynamic {
    reserved: match agent.sort.wants {
        book: call tool.reserve { input { title: input.order, reader: release input.customer because "it is theirs" } }
        nothing: null
    }
}

output {
    text: agent.greet.text
    reserved: dynamic.reserved
}
`

export function reach(playground: Playground): void {
  test("the reach of a workflow is a view, and the graph shows the ways of strangers' words and private data", async () => {
    const { page, close } = await playground.visit()
    await write(page, source)
    await hasCount(page.locator(".way"), 0)
    await tab(page, "Reach")
    await says(page.getByRole("row", { name: /agent\.sort/ }).first(), /quarantined.*input\.mail/)
    await says(page.getByRole("row", { name: /tool\.reserve/ }).first(), /trusted.*dynamic\.reserved.*trust/)
    await says(page.getByRole("row", { name: /release/ }), /it is theirs/)
    // agent.sort → agent.greet, agent.greet → output carries both.
    await hasCount(page.locator(".way.untrusted"), 2)
    await hasCount(page.locator(".way.private"), 1)
    await hasCount(page.locator(".reads .untrusted"), 3)
    const complaints: string[] = []
    await lookAt(page, complaints)("reach")
    assert.deepEqual(complaints, [])
    await page.getByRole("heading", { name: "Decisions that untrusted content can take" }).waitFor()
    await write(page, source.replace("output {", "output"))
    await page.getByText(/^Last valid version\./).waitFor()
    await write(page, source)
    await hasCount(page.getByText(/^Last valid version\./), 0)
    for (const field of ["mail", "customer", "order"])
      await page.getByRole("textbox", { name: new RegExp(`^${field}`) }).fill("Owls")
    await page.getByRole("button", { name: "Run", exact: true }).click()
    await page.getByRole("tab", { name: "Timeline", selected: true }).waitFor()
    await tab(page, "Reach")
    await page.getByRole("button", { name: "agent.greet" }).click()
    await tab(page, "Timeline")
    await hasCount(page.locator(".way"), 0)
    await close()
  })

  test("every tab has room at 1280 px; on a telephone no tab is cut, and a menu has all of them; names in the tables of Reach stay whole on a telephone", async () => {
    const { page, close } = await playground.visit({
      colorScheme: "light",
      reducedMotion: "reduce",
      viewport: { width: 1280, height: 800 },
    })
    await write(page, source)
    const menu = page.getByRole("button", { name: "All of results" })
    await page.getByRole("tab", { name: "Reach" }).waitFor()
    const results = page.getByRole("tablist", { name: "Results" })
    const whole = ["Timeline", "Output", "Events", "History", "Reach"]
    await eventually(async () => {
      assert.deepEqual([await results.evaluate(tabsInView), await menu.count()], [{ whole, cut: [] }, 0])
    })
    await page.setViewportSize({ width: 320, height: 800 })
    await tab(page, "Results")
    await menu.waitFor()
    await eventually(async () => {
      const { whole: shown, cut } = await results.evaluate(tabsInView)
      assert.deepEqual([shown[0], shown.length >= 3, cut], ["Timeline", true, []])
    })
    await menu.click()
    await page.getByRole("menuitemradio", { name: "Reach" }).click()
    await page.getByRole("tab", { name: "Reach", selected: true }).waitFor()
    await eventually(async () => {
      const { whole: shown, cut } = await results.evaluate(tabsInView)
      assert.deepEqual([shown.at(-1), cut], ["Reach", []])
    })
    // The arrows lead back into the row that was left.
    await page.getByRole("tab", { name: "Reach" }).press("ArrowRight")
    await page.getByRole("tab", { name: "Timeline", selected: true }).waitFor()
    await eventually(async () => assert.equal((await results.evaluate(tabsInView)).whole[0], "Timeline"))
    await page.keyboard.press("ArrowLeft")
    await page.getByRole("region", { name: "Reach" }).waitFor()
    await eventually(async () => assert.deepEqual(await page.locator(".reach").evaluate(brokenNames), []))
    await page.setViewportSize({ width: 390, height: 800 })
    const complaints: string[] = []
    await lookAt(page, complaints)("reach-390")
    assert.deepEqual(complaints, [])
    await close()
  })
}

/** The tabs of a row that are seen whole, and those of which a part is. */
function tabsInView(row: Element): { whole: string[]; cut: string[] } {
  const edge = row.getBoundingClientRect()
  const found: { whole: string[]; cut: string[] } = { whole: [], cut: [] }
  for (const one of row.children) {
    const { left, right, top, bottom } = one.getBoundingClientRect()
    if (bottom <= edge.top + 1 || top >= edge.bottom - 1) continue
    const isWhole = left >= edge.left - 1 && right <= edge.right + 1 && top >= edge.top - 1 && bottom <= edge.bottom + 1
    found[isWhole ? "whole" : "cut"].push(one.textContent.replace(/\d+$/, ""))
  }
  return found
}

/** Words, or parts of dotted names, that stand on two lines. */
function brokenNames(root: Element): string[] {
  const broken: string[] = []
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    for (const { 0: word, index } of (node.textContent ?? "").matchAll(/[^\s.,/]+/g)) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word)
    }
  }
  return broken
}
