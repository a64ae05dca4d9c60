import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { eventually, hasCount, hasFocus, says } from "./actions.ts"
import { startHeldModel } from "./held-model.ts"
import { lookAt } from "./look-at.ts"
import { openPlayground } from "./open-playground.ts"
import { servedFolder } from "./served.ts"

const model = await startHeldModel()
const { address, visit } = await openPlayground(
  { WIRE_WORKFLOWS: servedFolder(model.chain(1)) },
  { path: "/console/runs", colorScheme: "light", reducedMotion: "reduce" },
)

function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${address}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
}

const asking = `input { order: string }
ask review {
  to: "editors"
  question: "Publish {{ input.order }}?"
  output { publish: boolean }
}
output { publish: ask.review.publish }`

describe("the console", () => {
  test("says what fills an empty list; runs that begin are counted above it and move nothing; filters stand in the address", async () => {
    // The filter that the service refuses.
    const { page, close } = await visit({ expected: /status of 400/ })
    await page.getByText("Nothing has run yet.").waitFor()
    await post("/workflows/tickets/triage/execute", { input: { name: "Ada of Acme" } })
    await post("/execute", { workflow_source: "input { a: integer }\noutput { a: 1 / input.a }", input: { a: 0 } })
    await page.getByRole("button", { name: "Show 2 new runs" }).click()
    const rows = page.getByRole("region", { name: "List of runs" }).locator("tbody tr")
    await hasCount(rows, 2)
    await page.getByRole("combobox", { name: "Status" }).selectOption("failed")
    await page.waitForURL(/\?status=failed$/)
    await hasCount(rows, 1)
    await says(rows.first(), /failed/)
    await page.getByRole("button", { name: "Remove the filter Status: failed" }).click()
    await hasCount(rows, 2)
    await page.keyboard.press("/")
    const search = page.getByRole("searchbox", { name: "Search the runs" })
    await hasFocus(search)
    await page.keyboard.type("acme")
    await page.waitForURL(/\?q=acme$/)
    await hasCount(rows, 1)
    // From the search into the list, and into the run, by keys alone.
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    const run = page.getByRole("region", { name: "The run" })
    await says(run, /tickets\/triage[^]*completed in[^]*greeting/)
    await page.keyboard.press("Escape")
    await hasCount(run, 0)
    await search.fill("nobody wrote this")
    await page.getByText("No run of this service has all of these filters.").waitFor()
    await page.getByRole("button", { name: "Filter", exact: true }).or(page.getByLabel("Add a filter")).first().click()
    await page.getByRole("menuitem", { name: "Cost at least" }).click()
    await page.getByRole("textbox", { name: "Cost at least" }).fill("much")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").getByText("`min_cost` must be a number, 0 or more").waitFor()
    await close()
  })

  test("a run under way is followed and cancelled, and ended ones are deleted after a count is confirmed", async () => {
    const started = await post("/workflows/slowly/execute", {}, { prefer: "respond-async" })
    const { run_id } = (await started.json()) as { run_id: string }
    const { page, close } = await visit({ path: `/console/runs?workflow=slowly&run=${run_id}` })
    const run = page.getByRole("region", { name: "The run" })
    await run.getByRole("tab", { name: "Graph" }).click()
    await run
      .getByRole("button", { name: /^agent\.step1/ })
      .or(run.locator(".node").first())
      .first()
      .waitFor()
    await run.getByRole("button", { name: "Cancel" }).click()
    await says(run, /cancelled after/)
    const rows = page.getByRole("region", { name: "List of runs" }).locator("tbody tr")
    await says(rows.first(), /cancelled/)
    await rows.first().getByRole("checkbox").check()
    await page.getByRole("button", { name: "Delete 1 ended run" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Delete 1 run" }).click()
    await page.getByText("1 run deleted.").first().waitFor()
    await hasCount(rows, 0)
    assert.equal((await fetch(`${address}/execute/${run_id}`)).status, 410)
    await close()
  })

  test("questions are answered in the inbox; triggers are started, paused and resumed; every page looks right, wide and narrow", async () => {
    const complaints: string[] = []
    for (const width of [1440, 390]) {
      const asked = await post("/execute", { workflow_source: asking, input: { order: `A-${width}` } })
      const { run_id } = (await asked.json()) as { run_id: string }
      const { page, close } = await visit({
        viewport: { width, height: width === 390 ? 844 : 900 },
        path: "/console/questions",
      })
      const look = lookAt(page, complaints, `console-${width}-`)
      await page.getByText(`Publish A-${width}?`).waitFor()
      await look("questions")
      await page.getByRole("radio", { name: "Yes" }).check()
      await page.getByRole("button", { name: "Answer" }).click()
      await page.getByText("No open questions.").waitFor()
      const record = (await (await fetch(`${address}/execute/${run_id}?wait=20`)).json()) as { output: unknown }
      assert.deepEqual(record.output, { publish: true })
      const pages = page.getByRole("navigation", { name: "Pages" })
      await pages.getByRole("link", { name: "Triggers" }).click()
      const list = page.getByRole("region", { name: "Triggers of this server" })
      await list.getByText("POST /hooks/daily/asked").waitFor()
      await list.getByText("Monday to Friday at 09:00 (Europe/Berlin) · 0 9 * * 1-5").waitFor()
      await list.getByText(/^next \d+ \w+, 09:00 Europe\/Berlin$/).waitFor()
      // In one line, however narrow the screen is.
      const cron = list.getByText("0 9 * * 1-5", { exact: true })
      assert.equal(await cron.evaluate((element) => element.getClientRects().length), 1)
      await list.getByRole("button", { name: "Start now: mornings of daily" }).click()
      await list.getByText("last: done").waitFor()
      await list.getByRole("button", { name: "Pause asked of daily" }).click()
      await list.getByText("paused").waitFor()
      await look("triggers")
      await list.getByRole("button", { name: "Resume asked of daily" }).click()
      await list.getByText("paused").waitFor({ state: "detached" })
      await list.getByRole("button", { name: "Open the last run of mornings" }).click()
      await says(page.getByRole("region", { name: "The run" }), /daily[^]*completed/)
      await look("run")
      await page.getByRole("button", { name: "Close the run" }).click()
      await look("runs")
      await pages.getByRole("link", { name: "Workflows" }).click()
      await page.getByText("with errors, not served").waitFor()
      await look("workflows")
      await page.getByRole("link", { name: "Versions of daily" }).click()
      const versions = page.getByRole("region", { name: "Versions of daily" })
      await says(versions, /current[^]*\d ended/)
      await look("versions")
      await versions.getByRole("button", { name: "Close" }).click()
      await page.getByRole("link", { name: "Runs of daily" }).click()
      await page.waitForURL(/runs\?workflow=daily$/)
      await pages.getByRole("link", { name: "Health" }).click()
      await page.getByText("Ready", { exact: true }).waitFor()
      await eventually(async () => assert.ok((await page.locator(".health-facts > div").count()) > 4))
      await look("health")
      await close()
    }
    assert.deepEqual(complaints, [])
  })
})
