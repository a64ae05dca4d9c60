import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import type { Locator } from "playwright-core"
import {
  editor,
  eventually,
  hasAttribute,
  hasCount,
  hasFocus,
  hasValue,
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
  written,
} from "../actions.ts"
import { startHeldModel } from "../held-model.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"
import { soakTest } from "../../support/strength.ts"

export function runs(playground: Playground): void {
  test("a first visit runs with one press of Run: the graph, the timeline and the output come to life", async () => {
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
    // Who shares while a run is shown shares the run.
    await page.getByRole("button", { name: "Share", exact: true }).click()
    const shared = page.getByRole("dialog", { name: "Share" })
    await hasFocus(shared.getByLabel("Link to this run"))
    await hasAttribute(shared.getByRole("button", { name: "Copy link" }).first(), "class", "button primary")
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

  test("text appears as it is written, field by field, for the step that runs; the result takes its place", async () => {
    const model = await startHeldModel()
    const { page, close } = await playground.visit()
    await write(page, model.chain(2))
    await run(page)
    const details = page.getByRole("region", { name: "Details" })
    for (const step of ["step1", "step2"]) {
      const answer = details.getByRole("list", { name: `agent.${step}, so far` })
      await answer.getByText("text: ").waitFor()
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

  soakTest("a double click on Run starts one run and cancels none; Cancel has its own place, and cancels", async () => {
    const model = await startHeldModel()
    const { page, close, requests } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    await write(page, model.chain(3))
    const runButton = page.getByRole("button", { name: "Run", exact: true })
    const place = await placeOf(runButton)
    await runButton.dblclick()
    await nodeSays(page, "agent.step1", /running/)
    await hasAttribute(runButton, "aria-disabled", "true")
    assert.deepEqual(await placeOf(runButton), place)
    const sent = (path: string): number => requests.filter((request) => request.url().endsWith(path)).length
    assert.equal(sent("/execute"), 1)
    assert.equal(sent("/cancel"), 0)
    const cancel = page.getByRole("button", { name: "Cancel" })
    const away = await placeOf(cancel)
    assert.ok(away.x + away.width <= place.x, "Cancel is beside Run")
    await cancel.click()
    // The call that was cut off stays, with what it had written; nobody knows what it used.
    await status(page, /cancelled after .* usage unknown/)
    await nodeSays(page, "agent.step1", /cancelled/)
    const details = page.getByRole("region", { name: "Details" })
    await details.getByText("agent.step1, cut off").first().waitFor()
    const call = page.getByRole("treeitem", { name: /^model call cancelled/ })
    await says(call, /cut off, usage unknown/)
    await call.click()
    await details.getByText("Written before it was cut off").waitFor()
    await says(details, /Usage\s+unknown/)
    const complaints: string[] = []
    await lookAt(page, complaints)("cancelled")
    assert.deepEqual(complaints, [])
    await page.getByRole("button", { name: "Run", exact: true }).waitFor()
    await close()
  })

  test("a cancelled run goes on with the steps that were not done", async () => {
    const model = await startHeldModel()
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    await write(page, model.chain(2))
    await run(page)
    model.letOneGo()
    await nodeSays(page, "agent.step2", /running/)
    await page.getByRole("button", { name: "Cancel" }).click()
    await status(page, /cancelled after/)
    const complaints: string[] = []
    await lookAt(page, complaints)("cancelled-half-way")
    assert.deepEqual(complaints, [])
    model.letAllGo()
    await page.getByRole("button", { name: "Run the rest, and take over 1 step" }).click()
    await status(page, /completed in/)
    await nodeSays(page, "agent.step1", /reused/)
    await nodeSays(page, "agent.step2", /done/)
    await close()
  })

  test("on a telephone the answer stands above the timeline, and no step is drawn below 85 %", async () => {
    const { page, close } = await playground.visit({
      viewport: { width: 390, height: 844 },
      colorScheme: "light",
      reducedMotion: "reduce",
    })
    const complaints: string[] = []
    const look = lookAt(page, complaints, "phone-")
    await tab(page, "Graph")
    await eventually(async () => assert.ok(parseInt(await page.locator(".zoom").innerText(), 10) >= 85))
    await look("graph")
    await runToEnd(page)
    await tab(page, "Results")
    const details = page.getByRole("region", { name: "Details" })
    await details.getByText("Hello, Ada.").waitFor()
    const tree = page.getByRole("tree", { name: "Timeline" })
    await eventually(async () => {
      const [answer, timeline] = await Promise.all([placeOf(details), placeOf(tree)])
      assert.ok(answer.y + answer.height <= timeline.y, JSON.stringify([answer, timeline]))
    })
    await look("answer")
    // The details of a row stand below it, and the answer comes back when they are closed.
    await page.getByRole("treeitem", { name: /^model call/ }).click()
    await eventually(async () => assert.ok((await placeOf(details)).y > (await placeOf(tree)).y))
    await look("request")
    await page.getByRole("button", { name: "Close details" }).click()
    await eventually(async () => assert.ok((await placeOf(details)).y < (await placeOf(tree)).y))
    await close()
    assert.deepEqual(complaints, [])
  })

  test("on a telephone the menu is within the screen, and the buttons of the graph cover no step", async () => {
    const { page, close } = await playground.visit({
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
      reducedMotion: "reduce",
    })
    await page.getByRole("button", { name: "Open", exact: true }).click()
    await page.getByText("Workflows of this server").waitFor()
    const { x, width } = await placeOf(page.locator(".menu-list"))
    assert.ok(x >= 0 && x + width <= 390, JSON.stringify([x, width]))
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
    await page.getByRole("menuitemradio", { name: /^Fan-out/ }).click()
    await tab(page, "Graph")
    const [graph, tools] = await Promise.all([
      placeOf(page.locator(".graph-view")),
      placeOf(page.locator(".graph-tools")),
    ])
    assert.ok(graph.y + graph.height <= tools.y + 1, JSON.stringify([graph, tools]))
    await close()
  })

  test("a run that failed is seen from its failure, live and by its link; one that completed is opened at its top", async () => {
    const { page, close } = await playground.visit()
    const chain = (last: string): string =>
      slowChain(30)
        .replace('"demo-slow"', '"demo"')
        .replace("agent step1 {", `model last from demo {\n    id: "${last}"\n}\n\nagent step1 {`)
        .replace("agent step28 {\n    model: model.slow", "agent step28 {\n    model: model.last")
    await write(page, chain("demo-none"))
    await runToEnd(page, /failed after/)
    const failure = page.getByRole("treeitem", { name: /^agent\.step28 failed/ })
    const inView = async (row: Locator): Promise<void> =>
      eventually(async () => {
        const place = await row.boundingBox({ timeout: 1_000 }).catch(() => null)
        assert.ok(place !== null && place.y > 0 && place.y + place.height <= 900, JSON.stringify(place))
      })
    await inView(failure)
    await page.waitForURL(/#run=/)
    const failed = page.url()
    await page.goto("about:blank")
    await page.goto(failed)
    await inView(failure)
    await write(page, chain("demo"))
    await runToEnd(page)
    await page.waitForURL((url) => url.href !== failed)
    const completed = page.url()
    await page.goto("about:blank")
    await page.goto(completed)
    await inView(page.getByRole("treeitem", { name: /^agent\.step1 done/ }))
    await close()
  })

  test("at 200 % of 1280 px nothing of the page is cut, before a run and after it", async () => {
    const { page, close } = await playground.visit({
      viewport: { width: 640, height: 450 },
      deviceScaleFactor: 2,
      colorScheme: "light",
      reducedMotion: "reduce",
    })
    const complaints: string[] = []
    const look = lookAt(page, complaints, "zoomed-")
    await look("first-visit")
    await page.getByRole("button", { name: "Run", exact: true }).click()
    await status(page, /completed in/)
    await look("ran")
    for (const name of ["Editor", "Input", "Graph", "Results", "Output", "History", "Reach"]) {
      await tab(page, name)
      await look(name.toLowerCase())
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>(".top-bar *, [role=tab], .toolbar button")]
          .filter((element) => element.checkVisibility({ visibilityProperty: true }) && element.tagName !== "KBD")
          .filter((element) => element.closest(".visually-hidden, .wordmark-name, svg") === null)
          .filter((element) => {
            const { left, right } = element.getBoundingClientRect()
            const isCut =
              element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== "inline"
            return left < 0 || right > innerWidth || isCut
          })
          .map((element) => `${element.tagName}.${element.className}: ${element.textContent}`),
      )
      assert.deepEqual(cut, [], name)
    }
    await close()
    assert.deepEqual(complaints, [])
  })

  test("on a small screen, a link to a run opens its results", async () => {
    const body = JSON.stringify({ workflow_source: 'output { answer: "forty-two" }' })
    const headers = { "content-type": "application/json" }
    const ran = await fetch(`${playground.address}/execute`, { method: "POST", headers, body })
    const path = `/playground#run=${ran.headers.get("x-service-run-id")}`
    const { page, close } = await playground.visit({ viewport: { width: 390, height: 780 } })
    await page.goto("about:blank")
    await page.goto(`${playground.address}${path}`)
    await page.getByRole("tab", { name: "Results", selected: true }).waitFor()
    await says(page.locator(".status"), /completed/)
    await page.getByText("forty-two").first().waitFor()
    await close()
  })

  test("a deleted run that is opened by its address says so, and shows nothing that is not of it", async () => {
    const body = JSON.stringify({ workflow_source: "output { x: 1 }" })
    const headers = { "content-type": "application/json" }
    const ran = await fetch(`${playground.address}/execute`, { method: "POST", headers, body })
    const id = ran.headers.get("x-service-run-id") ?? ""
    assert.equal((await fetch(`${playground.address}/execute/${id}`, { method: "DELETE" })).status, 204)
    const { page, close } = await playground.visit({
      path: `/playground#run=${id}`,
      expected: /410|404/,
      colorScheme: "light",
      reducedMotion: "reduce",
    })
    await says(page.locator(".status"), /^deleted$/)
    await page.getByText("The run was deleted.").waitFor()
    await says(page.getByRole("region", { name: "Details" }), /^Deleted[^]*Nothing of it is left/)
    const complaints: string[] = []
    await lookAt(page, complaints)("deleted-run")
    await page.goto(`${playground.address}/playground#run=AAAAAAAAAAAAAAAAAAAAAA`)
    await says(page.locator(".status"), /^not found$/)
    await says(page.getByRole("region", { name: "Details" }), /^Not found[^]*It is gone, or it is not yours: /)
    assert.deepEqual(complaints, [])
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
    await write(page, source("demo-none"))
    await runToEnd(page, /failed after/)
    const details = page.getByRole("region", { name: "Details" })
    const fault = details.getByRole("group", { name: "Error" })
    await says(fault, /demo-none|404/)
    await says(fault, /At agent\.each\[[01]\]/)
    await says(fault, /Check the provider/)
    await fault.getByRole("button", { name: /^Go to line/ }).click()
    await hasFocus(editor(page))
    await says(page.locator(".cm-activeLine"), /^ {4}id: "demo-none"$/)
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
    // One click makes a test of it, which expects the error.
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      fault.getByRole("button", { name: "Download as test" }).click(),
    ])
    assert.match(download.suggestedFilename(), /\.test\.wire$/)
    const file = readFileSync(await download.path(), "utf8")
    assert.match(file, /^test "run [\w-]{8} fails in the same way" \{\n/)
    assert.match(file, /expect error\.kind == "[a-z_]+"\n +expect error\.issues\[0\]\.path contains "agent\.each"/)
    await fault.getByRole("button", { name: /^Details of the failed item \[[01]\]/ }).click()
    await details.getByRole("heading", { name: /^agent\.each\[[01]\]$/ }).waitFor()
    await details.getByRole("button", { name: "Close details" }).click()

    // The failure is that from an earlier version now, until the new one has run.
    await write(page, source("demo"))
    const note = page.locator(".status", { hasText: "from an earlier version" })
    await note.waitFor()
    await details.getByText("from an earlier version").waitFor()
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
    await page.locator(".status", { hasText: /completed in.*from a different workflow/s }).waitFor()
    await details.getByText("from a different workflow").waitFor()
    await close()
  })
}
