import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { describe, test } from "node:test"
import type { Locator, Page } from "playwright-core"
import { thousandSteps } from "../support/thousand-steps.ts"
import {
  copied,
  cursorAt,
  editor,
  eventually,
  hasAttribute,
  hasCount,
  hasFocus,
  hasValue,
  historyIsKept,
  node,
  nodeSays,
  openExample,
  refused,
  run,
  runToEnd,
  says,
  slowChain,
  status,
  tab,
  write,
  written,
} from "./actions.ts"
import { startHeldModel } from "./held-model.ts"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()

/** Where something is, once it has been there for three frames. */
async function placeOf(target: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  return target.evaluate(async (element) => {
    const look = (): string => {
      const { x, y, width, height } = element.getBoundingClientRect()
      return JSON.stringify({ x, y, width, height })
    }
    for (let seen = look(), times = 0; ;) {
      await new Promise(requestAnimationFrame)
      const now = look()
      times = now === seen ? times + 1 : 0
      seen = now
      if (times === 3) return JSON.parse(seen) as { x: number; y: number; width: number; height: number }
    }
  })
}

/** Visits of which each has its own storage, and none looks at the clipboard, go on side by side: most of them wait. */
const together = { concurrency: 2 }

describe("a first visit", together, () => {
  test("runs with one press of Run: the graph, the timeline and the output come to life", async () => {
    const { page, close } = await playground.visit()
    await written(page, /^input \{/m)
    await hasValue(page.getByRole("textbox", { name: "name" }), "Ada")
    assert.match(await runToEnd(page), /completed in [\d.]+ m?s · [\d,]+ tokens/)
    await nodeSays(page, "agent.greeter", /done/)
    await page.getByRole("treeitem", { name: /^agent\.greeter/ }).waitFor()
    // The result is there without a click, and in a tab of its own.
    const details = page.getByRole("region", { name: "Details" })
    await says(details.getByRole("list", { name: "Output" }), /greeting: Hello, Ada\./)
    await tab(page, "Output")
    await says(page.getByRole("list", { name: "Output" }), /greeting: Hello, Ada\./)
    await close()
  })

  test("runs with Ctrl+Enter from the editor, and from a field", async () => {
    const { page, close } = await playground.visit()
    await editor(page).click()
    await page.keyboard.press("Control+Enter")
    await status(page, /completed in/)
    await page.getByRole("textbox", { name: "name" }).fill("Grace")
    await page.keyboard.press("Control+Enter")
    await tab(page, "Output")
    await page.getByText("Hello, Grace.").waitFor()
    await close()
  })
})

describe("the form of the input", () => {
  const source = `input {
    title: string
    count: integer
    share: number
    draft: boolean
    level: enum { low, high }
    tags: [string]
    author: { name: string, mail: maybe string }
    advice: variant kind {
        rewrite {
            patch: string
        }

        question {
            text: string
            urgent: boolean
        }
    }
    anything: object
    either: string | integer
    mixed: [string | integer]
    bags: [object]
}

output {
    all: input
}
`
  test("has a control for every kind of type, and sends what they say", async () => {
    const { page, close } = await playground.visit()
    await write(page, source)
    await page.getByRole("textbox", { name: "title string" }).fill("Owls")
    await page.getByRole("textbox", { name: "count integer" }).fill("3")
    await page.getByRole("textbox", { name: "share number" }).fill("0.25")
    await page.getByRole("switch", { name: "draft" }).check()
    await page.getByRole("combobox", { name: "level" }).selectOption("high")
    const tags = page.getByRole("group", { name: /^tags/ })
    await tags.getByRole("button", { name: "Add an entry" }).click()
    await tags.getByRole("button", { name: "Add an entry" }).click()
    await tags.getByRole("textbox").nth(0).fill("b")
    await tags.getByRole("textbox").nth(1).fill("a")
    await tags.getByRole("button", { name: "Move entry 2 down", disabled: true }).waitFor()
    await tags.getByRole("button", { name: "Move entry 1 down" }).click()
    await tags.getByRole("button", { name: "Move entry 1 down" }).click()
    await tags.getByRole("button", { name: "Move entry 2 up" }).click()
    await tags.getByRole("button", { name: "Fold tags" }).click()
    await tags.getByText('2 entries ["a","b"]').waitFor()
    await hasCount(tags.getByRole("textbox"), 0)
    await tags.getByRole("button", { name: "Unfold tags" }).click()
    const author = page.getByRole("group", { name: /^author/ })
    await author.getByRole("textbox", { name: "name string" }).fill("Ada")
    await author.getByRole("combobox").selectOption({ label: "string" })
    await author.getByRole("textbox", { name: "mail string" }).fill("ada@example.org")
    await page.getByRole("combobox", { name: /^kind/ }).selectOption("question")
    await page.getByRole("textbox", { name: "text string" }).fill("Why?")
    await page.getByRole("switch", { name: "urgent" }).check()
    await page.getByRole("textbox", { name: "anything object" }).fill('{"x": [1]}')
    await page.getByRole("combobox", { name: "Kind of input.either" }).selectOption({ label: "integer" })
    await page.getByRole("textbox", { name: "either integer" }).fill("7")
    assert.doesNotMatch(await page.getByRole("region", { name: /^Input,/ }).innerText(), /undefined/)
    // What the controls of an entry remember moves with the entry, and so does the keyboard.
    const mixed = page.getByRole("group", { name: /^mixed/ }).first()
    const bags = page.getByRole("group", { name: /^bags/ }).first()
    for (const list of [mixed, bags])
      for (let entries = 0; entries < 2; entries++) await list.getByRole("button", { name: "Add an entry" }).click()
    await mixed.getByRole("combobox").nth(0).selectOption({ label: "integer" })
    await mixed.getByRole("textbox", { name: "1 integer" }).fill("5")
    await mixed.getByRole("textbox", { name: "2 string" }).fill("s")
    await bags.getByRole("textbox").nth(0).fill('{"first": true}')
    for (const list of [mixed, bags]) {
      await list.getByRole("button", { name: "Move entry 1 down" }).click()
      await list.locator("[aria-label='Move entry 2 up']:focus").waitFor()
    }
    await mixed.getByRole("textbox", { name: "2 integer" }).waitFor()
    assert.equal(await bags.getByRole("textbox").nth(1).inputValue(), '{"first": true}')
    await runToEnd(page)
    await tab(page, "Output")
    const copy = page.getByRole("button", { name: "Copy", exact: true })
    assert.deepEqual(JSON.parse(await copied(page, copy, "Output copied.")), {
      all: {
        title: "Owls",
        count: 3,
        share: 0.25,
        draft: true,
        level: "high",
        tags: ["a", "b"],
        author: { name: "Ada", mail: "ada@example.org" },
        advice: { kind: "question", text: "Why?", urgent: true },
        anything: { x: [1] },
        either: 7,
        mixed: ["s", 5],
        bags: [{}, { first: true }],
      },
    })
    await close()
  })

  test("a value that does not fit is reported at its field, and nothing is sent", async () => {
    const { page, requests, close } = await playground.visit()
    await write(page, "input {\n    count: integer\n}\n\noutput {\n    count: input.count\n}\n")
    const field = page.getByRole("textbox", { name: "count integer" })
    await field.fill("3.5")
    await page
      .locator(".form-field", { hasText: "count" })
      .getByText(/expected.* integer/i)
      .waitFor()
    await refused(page, () => run(page))
    await hasFocus(field)
    await hasAttribute(field, "aria-invalid", "true")
    assert.deepEqual(
      requests.filter((request) => request.url().endsWith("/execute")),
      [],
    )
    await field.fill("3")
    await runToEnd(page)
    await close()
  })

  test("is the same as JSON", async () => {
    const { page, close } = await playground.visit()
    await page.getByRole("button", { name: "JSON" }).click()
    const text = page.getByRole("textbox", { name: "Input as JSON" })
    await eventually(async () => assert.deepEqual(JSON.parse(await text.inputValue()), { name: "Ada" }))
    await text.fill('{ "nam": "Bo" }')
    await page
      .getByText(/nam.*(not|unknown|no such|expected)/i)
      .first()
      .waitFor()
    await text.fill('{ "name": ')
    await page.getByText("This is not JSON yet").waitFor()
    await text.fill('{ "name": "Bo" }')
    await page.getByRole("button", { name: "Form", exact: true }).click()
    await hasValue(page.getByRole("textbox", { name: "name" }), "Bo")
    await close()
  })
})

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
    await page.getByText("as of the last text without errors").waitFor()
    await hasCount(node(page, "agent.step2"), 1)
    await close()
  })

  test("each node shows its state while it runs; a click selects it everywhere", async () => {
    const model = await startHeldModel()
    const { page, close } = await playground.visit()
    await write(page, model.chain(2))
    await run(page)
    await nodeSays(page, "agent.step1", /running/)
    await nodeSays(page, "agent.step2", /waiting/)
    model.letOneGo()
    await nodeSays(page, "agent.step2", /running/)
    await nodeSays(page, "agent.step1", /done [\d.]+ m?s \d+ tok/)
    // The timeline is drawn while it runs, not when it is over.
    await page.getByRole("treeitem", { name: /^agent\.step2 running/ }).waitFor()
    await page.getByRole("treeitem", { name: /^model call running/ }).waitFor()
    model.letOneGo()
    await status(page, /completed in/)
    await eventually(async () => {
      const title = await page.getByRole("treeitem").last().getAttribute("title")
      assert.match(title ?? "", /^model call: done\n.* after /)
    })
    const name = page.locator(".bar-label").first()
    const before = (await placeOf(name)).width
    await page.getByRole("separator", { name: "Width of the names" }).press("ArrowRight")
    await eventually(async () => assert.ok((await placeOf(name)).width > before))

    await node(page, "agent.step2").click()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByRole("heading", { name: "agent.step2" }).waitFor()
    await details.getByRole("heading", { name: "Instruction, as rendered" }).waitFor()
    await says(details.locator("pre").first(), /^Say it in a word\. \S+/)
    await says(details.getByRole("list", { name: "Output" }), /text: /)
    await says(details, /Tokens in\s+\d+/)
    await says(page.locator(".cm-selected-node").first(), /^agent step2 \{$/)
    await page.getByRole("treeitem", { name: /^agent\.step2/, selected: true }).waitFor()

    await page.getByRole("treeitem", { name: /^agent\.step1/ }).click()
    await details.getByRole("heading", { name: "agent.step1" }).waitFor()
    await hasAttribute(node(page, "agent.step1"), "aria-pressed", "true")
    await says(page.locator(".cm-selected-node").first(), /^agent step1 \{$/)
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
      // What is selected elsewhere is shown by its group; what is searched for is uncovered.
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

  test("a failed run shows its sentence, its place and its next step; every view says the same; a result is marked once its text has changed", async () => {
    const { page, close } = await playground.visit()
    const source = (id: string): string => `${slowChain(0)
      .replace(/output[^]*/, "")
      .replace("demo-slow", id)}
agent each for word in ["yes", "no"] {
    model: model.slow
    instruction: "Explain {{ word }}."
    output { text: string }
}

agent after {
    model: model.slow
    instruction: "Sum up {{ agent.each.*.text }}."
    output { text: string }
}

output {
    text: agent.after.text
}
`
    await write(page, source("no-such-model"))
    await runToEnd(page, /failed after/)
    const details = page.getByRole("region", { name: "Details" })
    const fault = details.getByRole("group", { name: "Error" })
    await says(fault, /no-such-model|404/)
    await says(fault, /At agent\.each\[[01]\]/)
    await says(fault, /Check the provider/)
    await fault.getByRole("button", { name: /^Go to line/ }).click()
    await hasFocus(editor(page))
    await says(page.locator(".cm-activeLine"), /^ {4}id: "no-such-model"$/)
    // Graph and timeline agree: the loop has failed, and so have its calls; what comes after was never reached.
    await nodeSays(page, "agent.each", /failed/)
    await nodeSays(page, "agent.after", /not reached/)
    await page.getByRole("treeitem", { name: /^agent\.each failed/ }).waitFor()
    const call = page.getByRole("treeitem", { name: /^model call failed/ }).first()
    const colour = (state: string): Promise<string> =>
      call.evaluate((_, name) => {
        const probe = document.body.appendChild(document.createElement("i"))
        probe.style.color = `var(--${name})`
        const { color } = getComputedStyle(probe)
        probe.remove()
        return color
      }, state)
    await eventually(async () => {
      const icon = call.locator(".icon").last()
      const drawn = await icon.evaluate((element) => getComputedStyle(element).color)
      assert.equal(drawn, await colour("failed"))
    })
    await fault.getByRole("button", { name: /^Details of the failed item \[[01]\]/ }).click()
    await details.getByRole("heading", { name: /^agent\.each\[[01]\]$/ }).waitFor()
    await details.getByRole("button", { name: "Close details" }).click()

    // The failure is that of an earlier text now, until the new one has run.
    await write(page, source("demo"))
    const note = page.locator(".status", { hasText: "of an earlier text" })
    await note.waitFor()
    await details.getByText("of an earlier text").waitFor()
    await page.locator(".waterfall.of-other-text").waitFor()
    await runToEnd(page)
    await note.waitFor({ state: "detached" })
    // An old run beside another source says so, too.
    await openExample(page, "Hello")
    await page.locator(".status", { hasText: "Ready" }).waitFor()
    await tab(page, "History")
    await page
      .getByRole("button", { name: /^Look at/ })
      .first()
      .click()
    await page.locator(".status", { hasText: /completed in.*of another text/s }).waitFor()
    await details.getByText("of another text").waitFor()
    await close()
  })
})

describe("output and events", () => {
  test("the output as a tree and as raw JSON, copied and downloaded", async () => {
    const { page, close } = await playground.visit()
    await runToEnd(page)
    await tab(page, "Output")
    await page.getByRole("button", { name: "Raw" }).click()
    const raw = await page.getByLabel("Output as JSON").innerText()
    assert.deepEqual(JSON.parse(raw), { greeting: "Hello, Ada." })
    const copy = page.getByRole("button", { name: "Copy", exact: true })
    assert.deepEqual(JSON.parse(await copied(page, copy, "Output copied.")), JSON.parse(raw))
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download", exact: true }).click(),
    ])
    assert.match(download.suggestedFilename(), /\.json$/)
    assert.deepEqual(JSON.parse(readFileSync(await download.path(), "utf8")), JSON.parse(raw))
    await close()
  })

  test("the events with their ids, filtered, opened and copied as text", async () => {
    const { page, close } = await playground.visit()
    await runToEnd(page)
    await tab(page, "Events")
    const rows = page.getByRole("option")
    await hasCount(rows, 5)
    await says(rows.first(), /^1\s+\+0 ms\s+workflow_started/)
    await page.getByRole("searchbox", { name: "Filter events" }).fill("agent_ greeter")
    await page.getByText("2 of 5 events").waitFor()
    await rows.filter({ hasText: "agent_completed" }).click()
    await says(page.getByRole("region", { name: /^Event \d/ }), /greeting: Hello, Ada\./)
    const copy = page.getByRole("region", { name: "Results" }).getByRole("button", { name: "Copy", exact: true })
    assert.match(
      await copied(page, copy, "2 events copied."),
      /^id: 3\nevent: agent_started\ndata: \{.*\}\n\nid: \d\nevent: agent_completed\n/,
    )
    // The pieces of text are left out until they are asked for.
    await page.getByRole("searchbox", { name: "Filter events" }).fill("agent_delta")
    await page.getByText("0 of 5 events").waitFor()
    await page.getByRole("button", { name: /text piece/ }).click()
    await rows.filter({ hasText: "agent_delta" }).first().waitFor()
    await close()
  })
})

describe("selection and model calls", () => {
  test("a step is selected from its text, kept across runs, and by its events; a model call shows its request", async () => {
    const { page, close } = await playground.visit()
    await openExample(page, "Context")
    await cursorAt(page, "context: agent.explore")
    const narrow = page.locator('[data-node="agent.narrow"][aria-pressed="true"]')
    await narrow.waitFor()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByRole("heading", { name: "agent.narrow" }).waitFor()
    await page.keyboard.press("Control+Enter")
    await status(page, /completed in/)
    // The result comes first, and the step is still the one of the cursor.
    await says(details.getByRole("list", { name: "Output" }), /answer: /)
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
    await details.getByRole("list", { name: "Output" }).waitFor()
    await close()
  })

  test("a model call shows what came from elsewhere: a prompt, tools, a call in its system text, rejected answers; and so does the last one of a run that failed", async () => {
    const { page, close } = await playground.visit()
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
    await page.locator(".of-resource .bar-name", { hasText: /^resource\.opening_hours$/ }).waitFor()
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

describe("run control", together, () => {
  test("a run is cancelled", async () => {
    const model = await startHeldModel()
    const { page, close } = await playground.visit()
    await write(page, model.chain(3))
    await run(page)
    await nodeSays(page, "agent.step1", /running/)
    await page.getByRole("button", { name: "Cancel" }).click()
    await status(page, /cancelled after/)
    await nodeSays(page, "agent.step1", /cancelled/)
    await page.getByRole("button", { name: "Run", exact: true }).waitFor()
    await close()
  })

  test("options are checked and sent: a cache key makes the second run answer from the cache", async () => {
    const { page, close } = await playground.visit()
    await tab(page, "Options")
    await page.getByRole("textbox", { name: /^Time limit/ }).fill("soon")
    await refused(page, () => run(page))
    await page.getByRole("textbox", { name: /^Time limit/ }).fill("30s")
    await page.getByRole("textbox", { name: /^Cache key/ }).fill("browser-test")
    await runToEnd(page)
    await run(page)
    await nodeSays(page, "agent.greeter", /cached/)
    await Promise.all([
      page.getByText("1 entry of this cache key dropped.").waitFor(),
      page.getByRole("button", { name: "Empty it" }).click(),
    ])
    await close()
  })

  test("text appears as it is written, field by field, for the step that runs; the result takes its place", async () => {
    const model = await startHeldModel()
    const { page, close } = await playground.visit()
    await write(page, model.chain(2))
    await run(page)
    const details = page.getByRole("region", { name: "Details" })
    for (const step of ["step1", "step2"]) {
      const written = details.getByRole("list", { name: `agent.${step}, so far` })
      await written.getByText("text: ").waitFor()
      model.letOneGo()
    }
    await details.getByRole("list", { name: "Output" }).waitFor()
    await tab(page, "Options")
    await page.getByRole("switch", { name: /^Show text/ }).uncheck()
    await run(page)
    await details.getByText("Running: agent.step1").waitFor()
    model.letOneGo()
    await details.getByText("Running: agent.step2").waitFor()
    await hasCount(details.getByRole("list"), 0)
    await page.getByRole("button", { name: "Cancel" }).click()
    await details.getByText("The run was cancelled").waitFor()
    await close()
  })
})

describe("examples", () => {
  const names = [
    "Hello",
    "Chain",
    "Fan-out and join",
    "Loop",
    "Conditions",
    "Variants and match",
    "Context and compaction",
    "Fallback models",
    "Cost and limits",
    "MCP tools",
    "People",
    "Cache",
  ]
  test("every one of them runs against the demo model", async () => {
    const { page, close } = await playground.visit()
    await page.getByRole("button", { name: /^Examples/ }).click()
    await eventually(async () => {
      assert.deepEqual(await page.getByRole("menuitemradio").locator("span").allInnerTexts(), names)
    })
    await page.keyboard.press("Escape")
    await close()
    // Two at a time: some of them wait for the slow model.
    const left = [...names]
    const walk = async (): Promise<void> => {
      const visit = await playground.visit()
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        await openExample(visit.page, name)
        await visit.page.getByText("No problems").waitFor()
        if (name !== "People") await runToEnd(visit.page)
        else {
          await run(visit.page)
          await visit.page.getByRole("button", { name: "Answer", exact: true }).click()
          await status(visit.page, /completed in/)
        }
      }
      await visit.close()
    }
    await Promise.all([walk(), walk()])
  })
})

describe("files", () => {
  const own = `output {\n    word: "mine"\n}\n`

  test("opened, dropped, made, renamed, downloaded and closed in tabs; nothing replaces edits, and undo brings back all of a file", async () => {
    const { page, context, close } = await playground.visit()
    const tabs = page.getByRole("tablist", { name: "Files" }).getByRole("tab")
    const shows = async (...names: string[]): Promise<void> => {
      await page.waitForFunction((wanted) => {
        const shown = [...document.querySelectorAll("[aria-label=Files] [role=tab]")].map((one) => one.textContent)
        return JSON.stringify(shown) === wanted
      }, JSON.stringify(names))
    }
    const name = page.getByRole("textbox", { name: "name string" })
    // Without edits another example takes its place, in one step that can be undone.
    await openExample(page, "Chain")
    await name.waitFor({ state: "detached" })
    await shows("Chain")
    await editor(page).press("ControlOrMeta+z")
    await hasValue(name, "Ada")
    await written(page, /agent greeter/)
    await shows("Hello")
    // With edits it opens beside them.
    await name.fill("Grace")
    await openExample(page, "Chain")
    await shows("Hello, edited", "Chain")
    await tabs.nth(0).click()
    await hasValue(name, "Grace")
    await runToEnd(page)
    await tabs.nth(1).click()
    await page.locator(".status", { hasText: "Ready" }).waitFor()
    await tabs.nth(0).click()
    await status(page, /completed in/)
    await nodeSays(page, "agent.greeter", /done/)

    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Open a file" }).click(),
    ])
    await chooser.setFiles({ name: "mine.wire", mimeType: "text/plain", buffer: Buffer.from(own) })
    await shows("Hello, edited", "Chain", "mine")
    await written(page, own)
    const drop = editor(page).evaluate(
      (element, text) => {
        const dataTransfer = new DataTransfer()
        const bad = [
          new File(["a,b"], "table.csv"),
          new File(["x".repeat(1_000_001)], "huge.wire"),
          new File([new Uint8Array([0xff, 0xfe, 0])], "binary.wire"),
        ]
        const good = [new File([text], "dropped.wire"), new File([text], "mine.wire")]
        for (const file of [...bad, ...good]) dataTransfer.items.add(file)
        for (const type of ["dragover", "drop"]) {
          element.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, composed: true, cancelable: true }))
        }
      },
      own.replace("mine", "dropped"),
    )
    const sentences = ["table.csv is not a .wire file", "huge.wire is larger than 1 MB", "binary.wire is not a text"]
    await Promise.all([
      ...sentences.map((one) => page.locator(".notice", { hasText: `Not opened: ${one}` }).waitFor()),
      drop,
    ])
    // Files from a disk stay open beside each other, and each tab has a name of its own.
    await shows("Hello, edited", "Chain", "mine", "dropped", "mine 2")
    await page.getByRole("button", { name: "Close mine 2" }).click()
    await written(page, /"dropped"/)

    // A name that is taken is refused with a reason; undo brings back the old one.
    await tabs.nth(3).dblclick()
    const dialog = page.getByRole("dialog", { name: "Rename dropped" })
    await page.keyboard.type("Mine")
    await page.keyboard.press("Enter")
    await dialog.getByText("Another open file is called Mine.").waitFor()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.type("A good name.wire")
    await page.keyboard.press("Enter")
    await shows("Hello, edited", "Chain", "mine", "A good name, edited")
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download this file" }).click(),
    ])
    assert.equal(download.suggestedFilename(), "A-good-name.wire")
    assert.equal(readFileSync(await download.path(), "utf8"), own.replace("mine", "dropped"))
    await editor(page).press("ControlOrMeta+z")
    await shows("Hello, edited", "Chain", "mine", "dropped")
    await tabs.nth(3).press("F2")
    await dialog.waitFor()
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
    await hasFocus(tabs.nth(3))

    await page.getByRole("button", { name: "New file" }).click()
    await hasFocus(editor(page))
    await page.keyboard.type("output {")
    await page.getByRole("button", { name: "Close Untitled" }).click()
    await page.getByRole("button", { name: "Keep it open" }).click()
    await page.evaluate(() => dispatchEvent(new Event("pagehide")))
    await page.reload()
    await shows("Hello, edited", "Chain", "mine", "dropped", "Untitled, edited")
    await written(page, /^output \{/)
    await page.getByRole("button", { name: "Close Untitled" }).click()
    await page.getByRole("button", { name: "Close without them" }).click()
    await page.getByRole("button", { name: "Close dropped" }).click()
    await page.getByRole("button", { name: "Close mine" }).click()
    await shows("Hello, edited", "Chain")

    // Another tab of the browser begins with the same files. Both edit one of them: the next visit has both versions.
    const saved = (one: Page) => one.evaluate(() => dispatchEvent(new Event("pagehide")))
    await saved(page)
    const other = await context.newPage()
    await other.goto(`${playground.address}/playground`)
    await write(other, own.replace("mine", "theirs"))
    await saved(other)
    await write(page, own.replace("mine", "ours"))
    await saved(page)
    await other.close()
    const later = await context.newPage()
    await later.goto(`${playground.address}/playground`)
    const kept = later.getByRole("tablist", { name: "Files" }).getByRole("tab")
    await eventually(async () => {
      assert.deepEqual(await kept.allTextContents(), ["Hello, edited", "Chain, edited", "Chain 2, edited"])
    })
    // Which of them comes first depends on whether the page that was closed had the time to save once more.
    await kept.nth(2).click()
    await written(later, /"(ours|theirs)"/)
    const isTheirs = (await editor(later).innerText()).includes("theirs")
    await kept.nth(1).click()
    await written(later, isTheirs ? /"ours"/ : /"theirs"/)
    await later.close()

    // A page of the release before had one file, under another name.
    await page.goto(`${playground.address}/playground/diagnostics.html`)
    await page.evaluate(() => {
      for (const storage of [localStorage, sessionStorage]) storage.clear()
      const draft = { name: "Kept", source: "output { a: 1 }", input: {}, options: {}, origin: "own" }
      localStorage.setItem("wireworks.draft", JSON.stringify(draft))
    })
    await page.goto(`${playground.address}/playground`)
    await shows("Kept, edited")
    await written(page, "output { a: 1 }")
    await close()
  })
})

describe("history", () => {
  test("earlier runs are looked at again after a reload, restored and compared", async () => {
    const { page, close } = await playground.visit()
    await runToEnd(page)
    await page.getByRole("textbox", { name: "name" }).fill("Grace")
    await run(page)
    await historyIsKept(page, 2)
    await openExample(page, "Chain")
    await page.reload()
    await tab(page, "History")
    const rows = page.getByRole("list", { name: "Earlier runs" }).getByRole("listitem")
    await hasCount(rows, 2)
    await says(rows.nth(1), /Hello\s+\d+ \w+, [\d:]{8}\s[^]*name: Ada\s[^]*greeting: Hello, Ada\./)
    await rows
      .nth(1)
      .getByRole("button", { name: /^Label/ })
      .click()
    await hasFocus(rows.nth(1).getByRole("textbox"))
    await page.keyboard.type("the first one")
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: /^Look at the first one/ }).waitFor()
    await historyIsKept(page, 2, "the first one")
    await page.reload()
    await tab(page, "History")
    await page.getByRole("button", { name: /^Look at the first one/ }).click()
    await page.getByRole("treeitem", { name: /^agent\.greeter/ }).waitFor()
    await tab(page, "Output")
    await page.getByText("Hello, Ada.").waitFor()

    await tab(page, "History")
    for (const at of [0, 1]) await rows.nth(at).getByRole("checkbox").check()
    await page.getByRole("button", { name: "Compare the two" }).click()
    const comparison = page.getByRole("dialog", { name: "Two runs side by side" })
    await says(comparison, /greeting\s+Hello, Ada\.\s+Hello, Grace\./)
    await says(comparison, /name\s+Ada\s+Grace/)
    await says(comparison, /Source\s+The same\./)
    const step = comparison.getByRole("region", { name: "agent.greeter" })
    await says(step.getByRole("list", { name: "Instruction" }), /Greet Ada[^]*Greet Grace/)
    await says(step, /greeting\s+Hello, Ada\.\s+Hello, Grace\./)
    await page.keyboard.press("Escape")

    await rows
      .nth(0)
      .getByRole("button", { name: /^Restore/ })
      .click()
    await hasValue(page.getByRole("textbox", { name: "name" }), "Grace")
    await written(page, /agent greeter/)
    // Clearing asks once more.
    await page.getByRole("button", { name: "Clear" }).click()
    await page.getByRole("button", { name: "Clear 2 runs?" }).click()
    await page.getByText("Runs of this browser are listed here").waitFor()
    await close()
  })

  test("a run that is found again before the list of runs has been loaded leaves the others in it", async () => {
    const { page, close } = await playground.visit()
    await runToEnd(page)
    await page.getByRole("textbox", { name: "name" }).fill("Grace")
    await run(page)
    await historyIsKept(page, 2)
    await page.addInitScript(() => {
      const getAll = Reflect.get(IDBObjectStore.prototype, "getAll") as (...values: unknown[]) => IDBRequest<unknown[]>
      let calls = 0
      IDBObjectStore.prototype.getAll = function (...values) {
        const request = getAll.apply(this, values)
        if (calls++ > 0) return request
        const late = { result: undefined as unknown, onsuccess: null as (() => void) | null }
        request.onsuccess = () => {
          setTimeout(() => {
            late.result = request.result
            late.onsuccess?.()
          }, 2_000)
        }
        return late as unknown as IDBRequest<unknown[]>
      }
    })
    await page.reload()
    await tab(page, "History")
    const rows = page.getByRole("list", { name: "Earlier runs" }).getByRole("listitem")
    await rows.nth(1).waitFor()
    await rows
      .nth(1)
      .getByRole("button", { name: /^Look at Hello/ })
      .click()
    await page.getByRole("treeitem", { name: /^agent\.greeter/ }).waitFor()
    await tab(page, "Output")
    await page.getByText("Hello, Ada.").waitFor()
    await close()
  })
})
