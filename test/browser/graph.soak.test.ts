import assert from "node:assert/strict"
import { describe, test } from "node:test"
import type { Page } from "playwright-core"
import { thousandSteps } from "../support/thousand-steps.ts"
import {
  copied,
  cursorAt,
  editor,
  eventually,
  hasAttribute,
  hasCount,
  hasFocus,
  node,
  nodeSays,
  openExample,
  placeOf,
  run,
  runToEnd,
  says,
  slowChain,
  status,
  tab,
  write,
} from "./actions.ts"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()

/** Visits of which each has its own storage, and none looks at the clipboard, go on side by side: most of them wait. */
const together = { concurrency: 2 }

/** A step that is never needed, and a loop of which one item is. */
const conditional = `${slowChain(0)
  .replace(/output[^]*/, "")
  .replace("demo-slow", "demo")}
agent first {
    model: model.slow
    instruction: "Say a word."
    output { text: string }
}

agent follow when agent.first.text == "" {
    model: model.slow
    instruction: "Say more."
    output { text: string }
}

agent each for word in ["yes", "no", "no"] when word == "yes" {
    model: model.slow
    instruction: "Explain {{ word }}."
    output { text: string }
}

output {
    first: agent.first.text
    follow: agent.follow?.text
    each: agent.each.*.text
}
`

describe("graph, timeline and details", together, () => {
  test("the graph follows the text, and keeps the last one that was whole", async () => {
    const { page, close } = await playground.visit()
    await write(page, slowChain(2))
    await node(page, "agent.step2").waitFor()
    await hasCount(node(page, "agent.greeter"), 0)
    await editor(page).press("ControlOrMeta+End")
    await page.keyboard.type("agent ")
    await page.getByText("last valid version").waitFor()
    await hasCount(node(page, "agent.step2"), 1)
    await close()
  })

  test("pan, zoom and fit", async () => {
    const { page, close } = await playground.visit()
    const greeter = node(page, "agent.greeter")
    const first = await placeOf(greeter)
    await page.getByRole("button", { name: "Zoom in" }).click()
    await eventually(async () => assert.ok((await placeOf(greeter)).width > first.width * 1.2))
    const larger = await placeOf(greeter)
    const view = await placeOf(page.locator(".graph-view"))
    await page.mouse.move(view.x + 40, view.y + 40)
    await page.mouse.down()
    await page.mouse.move(view.x + 90, view.y + 80, { steps: 3 })
    await page.mouse.up()
    await eventually(async () => {
      const moved = await placeOf(greeter)
      assert.ok(Math.abs(moved.x - larger.x - 50) < 2 && Math.abs(moved.y - larger.y - 40) < 2, JSON.stringify(moved))
    })
    await page.getByRole("button", { name: "Fit the graph in" }).click()
    await eventually(async () => assert.deepEqual(await placeOf(greeter), first))
    await close()
  })

  test("a chain of forty steps, and forty side by side, can be read, told apart, searched, moved in and closed", async () => {
    const { page, close } = await playground.visit()
    const name = (at: number): string => `translate_chapter_number_${at}_into_german`
    const step = (id: string, ...before: string[]): string =>
      `agent ${id} {\n model: model.slow\n instruction: "Say. ${before.map((one) => `{{ agent.${one}.text }}`).join(" ")}"\n output { text: string }\n}\n`
    const start = slowChain(0)
      .replace(/output[^]*/, "")
      .replace("demo-slow", "demo")
    const forty = Array.from({ length: 40 }, (_, at) => at + 1)
    const chain = forty.map((at) => step(name(at), ...(at === 1 ? [] : [name(at - 1)])))
    const side = [...forty.map((at) => step(name(at))), step("join", ...forty.map(name))]
    const isInView = (id: string, expected = true): Promise<void> =>
      eventually(async () => {
        const view = await placeOf(page.locator(".graph-view"))
        const box = await placeOf(node(page, id))
        const isIn =
          box.x >= view.x &&
          box.y >= view.y &&
          box.x + box.width <= view.x + view.width &&
          box.y + box.height <= view.y + view.height
        assert.equal(isIn, expected, `${id} in view: ${JSON.stringify([view, box])}`)
      })
    for (const [steps, last] of [
      [chain, name(40)],
      [side, "join"],
    ] as const) {
      await write(page, `${start}${steps.join("")}output {\n text: agent.${last}.text\n}\n`)
      await page.getByText("No problems").waitFor()
      await node(page, `agent.${last}`).waitFor()
      await isInView(`agent.${name(1)}`)
      const box = await placeOf(node(page, `agent.${name(1)}`))
      assert.ok(box.height >= 36 && box.width >= 135, JSON.stringify(box))
      const names = await page.locator(".node-name").allTextContents()
      assert.equal(new Set(names).size, names.length)
      await isInView(`agent.${last}`, false)
      await page.getByRole("searchbox", { name: "Find a step" }).fill(last)
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: `agent.${last}` }).waitFor()
      await isInView(`agent.${last}`)
      // The corner of the map is the corner of the graph.
      await page.locator(".minimap").click({ position: { x: 20, y: 10 } })
      await isInView(`agent.${name(1)}`)
      await page.getByRole("button", { name: "Fit the graph in" }).click()
      // A group closes by keyboard, opens by a click, and keeps the focus.
      const group = page.locator("[data-group]")
      await page.getByRole("button", { name: /^Close the group: 40 / }).press("Enter")
      await page.getByRole("button", { name: /^40 steps/, expanded: false }).waitFor()
      await hasCount(node(page, `agent.${name(7)}`), 0)
      await hasFocus(group)
      await group.click()
      await page.getByRole("button", { name: /^Close the group/, expanded: true }).waitFor()
      await node(page, `agent.${name(7)}`).waitFor()
      // Closed, it shows the state of what is inside, and stays so across a run and a reload.
      await page.getByRole("button", { name: "Close all groups" }).click()
      await node(page, `agent.${name(7)}`).waitFor({ state: "detached" })
      await runToEnd(page)
      await group.filter({ hasText: /done 40\/40/ }).waitFor()
      await page.reload()
      await group.filter({ hasText: /done 40\/40/ }).waitFor()
      // A node that is selected elsewhere is shown by its group; a search opens the group.
      await page.getByRole("treeitem", { name: new RegExp(`^agent\\.${name(1)} `) }).click()
      await page.locator(".kind-group.has-selected").waitFor()
      await page.getByRole("searchbox", { name: "Find a step" }).fill(name(7))
      await page.keyboard.press("Enter")
      await nodeSays(page, `agent.${name(7)}`, /done/)
      await page.getByRole("button", { name: "Close details" }).click()
      await page.getByRole("button", { name: "Fit the graph in" }).click()
    }
    await close()
  })

  test("of two hundred steps those in view are drawn; keys and the search lead to all of them", async () => {
    const { page, close } = await playground.visit({ reducedMotion: "reduce" })
    await write(page, slowChain(200))
    await node(page, "agent.step1").waitFor()
    await eventually(async () => assert.ok((await page.locator(".graph .node").count()) < 80))
    await hasCount(node(page, "agent.step150"), 0)
    await node(page, "agent.step1").focus()
    await page.keyboard.press("End")
    await hasFocus(node(page, "output"))
    await hasCount(node(page, "agent.step1"), 0)
    await page.keyboard.press("Home")
    await hasFocus(node(page, "agent.step1"))
    await page.getByRole("searchbox", { name: "Find a step" }).fill("step150")
    await page.keyboard.press("Enter")
    await hasAttribute(node(page, "agent.step150"), "aria-pressed", "true")
    // Moved away by hand, the graph draws what comes into view, and the selected step stays.
    await page.locator(".graph-view").hover()
    await page.mouse.wheel(0, -50_000)
    await node(page, "agent.step1").waitFor()
    await hasCount(node(page, "agent.step150"), 1)
    await close()
  })

  test("a thousand iterations are rows like others, of which only those in view exist", async () => {
    const { page, close } = await playground.visit()
    await write(page, thousandSteps)
    await page.getByRole("button", { name: "JSON" }).click()
    const items = JSON.stringify({ items: Array.from({ length: 1_000 }, (_, at) => at) })
    await page.getByRole("textbox", { name: "Input as JSON" }).fill(items)
    await run(page)
    await page.locator(".status", { hasText: /completed in/ }).waitFor({ timeout: 180_000 })
    await nodeSays(page, "agent.step", /done 1,000\/1,000/)
    await page.getByText("1,001 rows").waitFor()
    await eventually(async () => assert.ok((await page.getByRole("treeitem").count()) < 80))
    await page.getByRole("tree", { name: "Timeline" }).press("End")
    await page.getByRole("treeitem", { name: /^\[999\] 999/, selected: true }).waitFor()
    await page.keyboard.press("Home")
    await page.getByRole("treeitem", { name: /^agent\.step done/, selected: true }).waitFor()
    await close()
  })

  test("a loop shows its iterations, retries and model calls", async () => {
    const { page, close } = await playground.visit()
    await openExample(page, "Loop")
    await runToEnd(page)
    await nodeSays(page, "agent.review", /done 3\/3.*(retries|retry)/)
    for (const name of [/^\[2\] /, /^retry 2/, /^model call/]) {
      await page.getByRole("treeitem", { name }).first().waitFor()
    }
    await page.getByRole("treeitem", { name: /^\[1\] .*retry\.ts/ }).click()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByRole("heading", { name: "agent.review[1]" }).waitFor()
    await says(details, /Review the file src\/retry\.ts/)
    await details.getByRole("button", { name: "Next" }).click()
    await details.getByRole("heading", { name: "agent.review[2]" }).waitFor()
    // Another run keeps the item, not only its step.
    await runToEnd(page)
    await page.locator(".tab", { hasText: /History\s*2/ }).waitFor()
    await page.getByRole("treeitem", { name: /^\[2\] /, selected: true }).waitFor()
    await details.getByRole("heading", { name: "agent.review[2]" }).waitFor()
    await close()
  })

  test("steps with a condition show it, and are skipped where it does not hold", async () => {
    const { page, close } = await playground.visit()
    await write(page, conditional)
    await nodeSays(page, "agent.follow", /when agent\.first\.text == ""/)
    const dashed = page.locator(".edge.conditional")
    await hasCount(dashed, 1)
    assert.match(await dashed.first().evaluate((edge) => getComputedStyle(edge).strokeDasharray), /\d/)
    await hasAttribute(node(page, "agent.follow"), "aria-description", 'agent, when agent.first.text == ""')

    assert.match(await runToEnd(page), /· 1 step skipped/)
    await nodeSays(page, "agent.follow", /skipped/)
    await nodeSays(page, "agent.each", /done 1\/3, 2 skipped/)
    await page.getByRole("treeitem", { name: /^\[1\] no skipped/ }).waitFor()
    const row = page.getByRole("treeitem", { name: /^agent\.follow skipped/ })
    await says(row, /skipped/)
    await row.click()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByText("The condition was false, so it did not run.").waitFor()
    await says(details, /Condition\s+agent\.first\.text == ""/)
    await close()
  })
})

/** A service that does not keep requests: the page rebuilds them from the events. */
async function withoutRequests(page: Page): Promise<void> {
  const error = { kind: "not_found", message: "There is no request of such a call", issues: [] }
  await page.route("**/execute/*/calls/*", (route) => route.fulfill({ status: 404, json: { error } }))
}

describe("selection and model calls", () => {
  test("a step is selected from its text, kept across runs, and by its events; a model call shows its request", async () => {
    const { page, close } = await playground.visit({ expected: /404/ })
    await withoutRequests(page)
    await openExample(page, "Context")
    await cursorAt(page, "context: agent.explore")
    const narrow = page.locator('[data-node="agent.narrow"][aria-pressed="true"]')
    await narrow.waitFor()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByRole("heading", { name: "agent.narrow" }).waitFor()
    await page.keyboard.press("Control+Enter")
    await status(page, /completed in/)
    // The result comes first, and the step is still the one of the cursor.
    await says(details.getByRole("region", { name: "Output as text" }), /answer/)
    await narrow.waitFor()

    await page.getByRole("treeitem", { name: /^compacting/ }).click()
    await details.getByRole("heading", { name: "Summary" }).waitFor()
    const summary = await details.locator(".part", { hasText: "Summary" }).locator("pre").innerText()
    await page
      .getByRole("treeitem", { name: /^model call/ })
      .last()
      .click()
    for (const part of ["user: summary of agent.narrow", "user: instruction", "Output schema", "Answer"]) {
      await details.getByRole("heading", { name: part }).waitFor()
    }
    const copy = details.getByRole("button", { name: "Copy all" })
    const request = JSON.parse(await copied(page, copy, "Request copied.")) as { messages: { content: string }[] }
    assert.deepEqual(
      request.messages.map(({ content }) => content.split(":")[0]),
      [summary.split(":")[0], "Answer the question in one paragraph"],
    )

    await tab(page, "Events")
    await page.getByRole("option", { name: /agent_started.*agent\.explore/ }).click()
    await details.getByRole("heading", { name: "agent.explore" }).waitFor()
    await hasAttribute(node(page, "agent.explore"), "aria-pressed", "true")
    await runToEnd(page)
    await page.locator(".tab", { hasText: /History\s*2/ }).waitFor()
    await details.getByRole("heading", { name: "agent.explore" }).waitFor()
    // The result is one line below the step that was kept; a click on it shows it whole.
    await details.getByRole("button", { name: /^Result/ }).click()
    await details.getByRole("region", { name: "Output as text" }).waitFor()
    await close()
  })

  test("a model call shows what came from elsewhere: a prompt, tools, a call in its system text, rejected answers; and so does the last one of a run that failed", async () => {
    const { page, close } = await playground.visit({ expected: /404/ })
    await withoutRequests(page)
    await write(
      page,
      `mcp library { endpoint: "demo" }
from mcp.library { tool find-books  resource opening-hours  prompt recommend }
provider p from openai { endpoint: "demo" }
model m from p { id: "demo-sloppy"  price { input: 2  output: 8 }  inference { output_retries: 1 } }
agent choose {
    model: model.m
    system: "Found: {{ call tool.find_books { input { query: "owls" } } }}"
    uses: [tool.find_books, prompt.recommend { bindings { reader: "Ada" } }]
    instruction: "Choose a book."
    file { content: read resource.opening_hours  name: "hours.txt" }
    output { title: string  pages: integer }
}
output { title: agent.choose.title }
`,
    )
    await runToEnd(page, /failed after/)
    // A read before the step began has a row of its own.
    await page.locator(".of-resource .bar-name", { hasText: /^(?:resource\.)?opening_hours$/ }).waitFor()
    const details = page.getByRole("region", { name: "Details" })
    await page
      .getByRole("treeitem", { name: /^model call/ })
      .last()
      .click()
    await details.getByRole("group", { name: "Error" }).first().waitFor()
    for (const part of ["Answer, rejected", "user: prompt.recommend", "assistant: rejected answer"]) {
      await details.getByRole("heading", { name: part }).waitFor()
    }
    await says(details.locator(".part", { hasText: /^System/ }), /Found: \{"books":/)
    await says(details.locator(".part", { hasText: "file hours.txt" }), /open|closed|\d/i)
    await says(details.locator(".facts"), /Cost\s+0\.0/)
    assert.doesNotMatch(await details.innerText(), /do not carry|as its server/)
    const copyAnswer = details.getByRole("button", { name: "Copy: assistant: rejected answer" })
    assert.match(await copied(page, copyAnswer, "rejected answer copied"), /"title"/)
    const copyAll = details.getByRole("button", { name: "Copy all" })
    const request = JSON.parse(await copied(page, copyAll, "Request copied.")) as {
      tools: { name: string; parameters: object }[]
    }
    assert.deepEqual(
      request.tools.map(({ name, parameters }) => [name, typeof parameters]),
      [["find_books", "object"]],
    )
    await close()
  })
})
