import assert from "node:assert/strict"
import { describe, test } from "node:test"
import type { Page } from "playwright-core"
import {
  editor,
  eventually,
  hasAttribute,
  hasCount,
  node,
  nodeSays,
  openExample,
  refused,
  run,
  runToEnd,
  slowChain,
  status,
  tab,
  write,
} from "./actions.ts"
import { startHeldModel } from "./held-model.ts"
import { lookAt } from "./look-at.ts"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()
const wrongSource = slowChain(1).replace("model.slow", "model.slwo")

const formSource = `input {
    count: integer
    mail: string | null
    either: string | integer
    tags: [string]
}

output {
    all: input
}
`

const report = [
  "## What we found",
  "The **checkout** fails for `3` of 40 customers, *since Monday*.",
  "- Cards of one bank are refused\n- The message says nothing about it",
  "1. Call the bank\n2. Show its reason",
  "```\nGET /cards 502\n```",
].join("\n\n")

const reportSource = `output {
    report: ${JSON.stringify(report)}
    severity: "high"
    ticket: { id: 41, owners: ["Ada", "Grace"] }
}
`

/** A walk past every view; `look` is called at each. */
async function walk(page: Page, see: (view: string) => Promise<void>): Promise<void> {
  await see("first-visit")
  await page.getByRole("button", { name: /^Open$/ }).click()
  await see("examples")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "Theme" }).click()
  await see("theme-menu")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "Rename this file" }).click()
  await page.getByRole("dialog").waitFor()
  await see("rename-file")
  await page.keyboard.press("Escape")
  await runToEnd(page)
  await openExample(page, "Loop")
  await runToEnd(page)
  await node(page, "agent.review").click()
  await see("timeline")
  await page.getByRole("treeitem", { name: /^\[0\]/ }).click()
  await see("details")
  await page
    .getByRole("treeitem", { name: /^model call/ })
    .first()
    .click()
  await see("model-call")
  await page.getByRole("button", { name: "Close details" }).click()
  await see("answer")
  await tab(page, "Output")
  await see("output")
  await page.getByRole("button", { name: "Raw" }).click()
  await see("output-raw")
  await tab(page, "Events")
  await page.getByRole("option").nth(3).click()
  await see("events")
  await tab(page, "History")
  for (const at of [0, 1]) {
    await page
      .getByRole("checkbox", { name: /^Compare/ })
      .nth(at)
      .check()
  }
  await page
    .getByRole("button", { name: /^Label/ })
    .first()
    .click()
  await see("history")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "Compare the two" }).click()
  await page.getByRole("dialog").waitFor()
  await see("compare")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "Share" }).click()
  await page.getByRole("dialog").waitFor()
  await see("share")
  await page.keyboard.press("Escape")
  await openExample(page, "Conditions")
  await page.getByRole("combobox", { name: "tier" }).selectOption("free")
  await tab(page, "Timeline")
  await runToEnd(page)
  await nodeSays(page, "agent.follow_up", /skipped/)
  await node(page, "agent.follow_up").click()
  await see("conditions")
  await node(page, "agent.escalate").click({ button: "right" })
  await page.getByRole("menuitem", { name: "Run from here" }).waitFor()
  await see("step-menu")
  await page.keyboard.press("Escape")
  await tab(page, "Timeline")
  await openExample(page, "Variants")
  await page.getByRole("button", { name: "JSON" }).click()
  await see("input-json")
  await page.getByRole("button", { name: "Form", exact: true }).click()
  await see("input-form")
  await write(page, reportSource)
  await tab(page, "Output")
  await runToEnd(page)
  await page.getByRole("button", { name: "Text", exact: true }).click()
  await page.getByRole("region", { name: "Output as text" }).getByText("What we found").waitFor()
  await see("output-text")
  await tab(page, "Timeline")
  await see("answer-text")
  await write(page, formSource)
  for (const name of ["mail", "either"]) {
    await page.getByRole("combobox", { name: `Kind of input.${name}` }).selectOption({ index: 1 })
  }
  await page.getByRole("button", { name: "Add an entry" }).click()
  await page.getByRole("textbox", { name: "count integer" }).waitFor()
  // A refusal, beside the result of another text.
  await refused(page, () => run(page))
  await see("input-kinds")
  await write(page, `secrets {\n    api_key: string\n}\n\n${wrongSource}`)
  await tab(page, "Secrets")
  await page.getByRole("button", { name: /problems?$/ }).click()
  await see("problems-and-secrets")
  await page.locator(".problem-list .problem").first().click()
  await page.keyboard.press("Control+.")
  await page.getByRole("menu", { name: "Quick fixes" }).waitFor()
  await page.keyboard.press("ArrowDown")
  await see("quick-fixes")
  await page.keyboard.press("Escape")
  await page.keyboard.press("ControlOrMeta+f")
  await page.getByRole("textbox", { name: "Find" }).waitFor()
  await see("search")
  await page.keyboard.press("Escape")
  await editor(page).press("ControlOrMeta+End")
  await page.keyboard.press("Enter")
  await page.keyboard.press("Control+Space")
  await page.getByRole("listbox", { name: "Completions" }).waitFor()
  await see("completion")
  await page.keyboard.press("Escape")
  await editor(page).press("ControlOrMeta+Home")
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("End")
  for (let letters = 0; letters < 9; letters++) await page.keyboard.press("ArrowLeft")
  await page.keyboard.press("F2")
  await page.getByRole("dialog", { name: /^Rename/ }).waitFor()
  await see("rename-symbol")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "New file" }).click()
  await write(page, slowChain(40))
  await page.locator(".minimap").waitFor()
  await see("graph-large")
  await page.getByRole("button", { name: "Close all groups" }).click()
  await page.locator(".kind-group").waitFor()
  await see("graph-closed")
  // It is remembered: open them for what follows.
  await page.getByRole("button", { name: "Close all groups" }).click()
  await page.getByRole("button", { name: /^Close Untitled/ }).click()
  await page.getByRole("dialog").waitFor()
  await see("close-file")
  await page.getByRole("button", { name: "Close without them" }).click()
  await tab(page, "Options")
  await see("options")
  const model = await startHeldModel()
  await write(page, model.chain(3))
  await tab(page, "Timeline")
  await run(page)
  await nodeSays(page, "agent.step1", /running/)
  await see("running")
  await page.getByRole("button", { name: "Cancel" }).click()
  await status(page, /cancelled after/)
  await see("cancelled")
  await write(page, slowChain(1).replace("demo-slow", "demo-none"))
  await tab(page, "Timeline")
  await runToEnd(page, /failed after/)
  await node(page, "agent.step1").click()
  await see("failed")
  await write(page, "")
  await see("empty")
}

describe("every view", () => {
  test("without a complaint, in both themes", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    const complaints: string[] = []
    await walk(page, lookAt(page, complaints))
    await close()
    assert.deepEqual(complaints, [])
  })

  test("the theme is the system's, or the one that was chosen, and that is remembered", async () => {
    const { page, close } = await playground.visit({ colorScheme: "dark" })
    const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const dark = await ground()
    const isLight = (): Promise<void> => eventually(async () => assert.notEqual(await ground(), dark))
    await page.getByRole("button", { name: "Theme" }).click()
    await page.getByRole("menuitemradio", { name: "Light" }).click()
    await isLight()
    await page.reload()
    await editor(page).waitFor()
    await isLight()
    await close()
  })
})

describe("smaller screens", () => {
  test("under 1100 px the panes become tabs", async () => {
    const { page, close } = await playground.visit({ viewport: { width: 820, height: 1000 }, reducedMotion: "reduce" })
    const complaints: string[] = []
    const look = lookAt(page, complaints, "tablet-")
    await page.getByRole("tab", { name: "Graph" }).click()
    await node(page, "agent.greeter").waitFor()
    await editor(page).waitFor({ state: "hidden" })
    await look("graph")
    await page.getByRole("tab", { name: "Editor" }).click()
    await runToEnd(page)
    // A run turns to its results.
    await page.getByRole("treeitem", { name: /^agent\.greeter/ }).click()
    await look("results")
    await close()
    assert.deepEqual(complaints, [])
  })

  test("at 360 px there is one column, with Run in the thumb's reach and nothing beyond the edge", async () => {
    const { page, close } = await playground.visit({
      viewport: { width: 360, height: 740 },
      reducedMotion: "reduce",
      hasTouch: true,
    })
    const complaints: string[] = []
    const look = lookAt(page, complaints, "phone-")
    await look("editor")
    await eventually(async () => {
      const box = await page.getByRole("button", { name: "Run", exact: true }).boundingBox()
      assert.ok(box !== null && box.y > 660 && box.height >= 44, JSON.stringify(box))
    })
    await page.getByRole("tab", { name: "Input" }).first().tap()
    await look("input")
    await page.getByRole("tab", { name: "Graph" }).tap()
    await look("graph")
    await page.getByRole("button", { name: "Run", exact: true }).tap()
    await status(page, /completed in/)
    await page.getByRole("tab", { name: "Results" }).tap()
    await page.getByRole("treeitem", { name: /^agent\.greeter/ }).tap()
    await look("results")
    for (const name of ["Output", "Events", "History"]) {
      await page.getByRole("tab", { name: new RegExp(`^${name}`) }).tap()
      await look(name.toLowerCase())
    }
    // The list has the screen to itself, although a step is selected.
    await eventually(async () => {
      const row = await page.getByRole("list", { name: "Earlier runs" }).boundingBox()
      assert.ok(row !== null && row.height > 400, JSON.stringify(row))
    })
    await page.getByRole("button", { name: "Share" }).tap()
    await page.getByRole("dialog").waitFor()
    await look("share")
    await page.keyboard.press("Escape")
    await page.getByRole("tab", { name: "Editor" }).tap()
    for (let files = 0; files < 3; files++) await page.getByRole("button", { name: "New file" }).tap()
    // More files than the row has room for: that of the open one is in view.
    const files = page.getByRole("tablist", { name: "Files" })
    await hasCount(files.getByRole("tab"), 4)
    await eventually(async () => {
      const row = await files.boundingBox()
      const shown = await files.getByRole("tab", { selected: true }).boundingBox()
      assert.ok(row !== null && shown !== null)
      assert.ok(shown.x + shown.width <= row.x + row.width + 1, JSON.stringify([row, shown]))
    })
    await close()
    assert.deepEqual(complaints, [])
  })
})

describe("by keyboard alone", () => {
  test("every divider moves, and stays where it was put", async () => {
    const { page, close } = await playground.visit()
    const dividers = page.getByRole("separator")
    await hasCount(dividers, 4)
    const names = ["Width of the editor", "Height of the editor", "Height of the graph", "Width of the results"]
    for (const name of names) {
      const divider = page.getByRole("separator", { name })
      const before = Number(await divider.getAttribute("aria-valuenow"))
      await divider.focus()
      await page.keyboard.press(name.startsWith("Width") ? "ArrowRight" : "ArrowDown")
      await hasAttribute(divider, "aria-valuenow", String(before + 2))
    }
    const columns = page.getByRole("separator", { name: "Width of the editor" })
    const box = await columns.boundingBox()
    assert.ok(box !== null)
    await page.mouse.move(box.x, box.y + 200)
    await page.mouse.down()
    await page.mouse.move(720, box.y + 200, { steps: 3 })
    await page.mouse.up()
    await hasAttribute(columns, "aria-valuenow", "50")
    await page.reload()
    await hasAttribute(columns, "aria-valuenow", "50")
    await columns.press("Enter")
    await hasAttribute(columns, "aria-valuenow", "40")
    await close()
  })
})
