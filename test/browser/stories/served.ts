import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import {
  editor,
  hasAttribute,
  hasCount,
  hasValue,
  nodeSays,
  runToEnd,
  says,
  status,
  tab,
  write,
  written,
} from "../actions.ts"
import { greeter } from "../greeter.ts"
import { lookAt } from "../look-at.ts"
import { openServed } from "../served.ts"
import type { Playground } from "../open-playground.ts"

export function served(playground: Playground): void {
  test("the workflows of the server are opened read-only, run by name, and edited as a copy", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    await openServed(page, "tickets/triage")
    await written(page, /Sorts a ticket/)
    await write(page, "output { a: 1 }")
    await written(page, /Sorts a ticket/)
    await page.getByRole("textbox", { name: "name" }).fill("Ada")
    await runToEnd(page)
    await nodeSays(page, "agent.greeter", /done/)
    // Programs call it by its name, best with its types.
    await page.getByRole("button", { name: "Share", exact: true }).click()
    const share = page.getByRole("dialog", { name: "Share" })
    await share.getByRole("tab", { name: "Typed client", selected: true }).waitFor()
    await says(share.locator(".snippet"), /client\.workflow\("tickets\/triage"\)\.execute\(/)
    await share.getByRole("tab", { name: "curl" }).click()
    const snippet = share.locator(".snippet")
    await says(snippet, /\/workflows\/tickets\/triage\/execute/)
    assert.doesNotMatch(await snippet.innerText(), /workflow_source/)
    const called = spawnSync("sh", ["-c", await snippet.innerText()])
    assert.match(called.stdout.toString(), /"greeting":"Hello, Ada\."/)
    const complaints: string[] = []
    await lookAt(page, complaints)("share-of-a-served-workflow")
    assert.deepEqual(complaints, [])
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: "Edit a copy" }).click()
    await editor(page).focus()
    await write(page, "output { a: 1 }")
    await written(page, "output { a: 1 }")
    await hasCount(page.getByText("The server's workflow"), 0)
    await close()
  })

  test("a run is found in the list, opens with its own source and input, and back and forward go between what was seen", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    // Somebody else's, with the command line.
    const mark = `Zoë of ${Date.now()}`
    const started = await fetch(`${playground.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workflow_source: greeter, input: { name: mark } }),
    })
    const run_id = started.headers.get("x-service-run-id") ?? ""
    await runToEnd(page)
    await page.waitForURL(/#run=/)
    const own = page.url()
    await tab(page, "Runs")
    const list = page.getByRole("region", { name: "Runs of this server" })
    await list.getByRole("heading", { name: /^Today \d+ runs? · / }).waitFor()
    await page.getByRole("searchbox", { name: "Search the runs" }).fill(mark)
    await hasCount(list.getByRole("listitem"), 1)
    const row = list.getByRole("listitem")
    await says(row, new RegExp(`^greeter[^]*name: ${mark}[^]*→[^]*greeting: [^]*done[^]*tok[^]*deleted in 24 h`))
    const complaints: string[] = []
    await lookAt(page, complaints)("runs-list")
    assert.deepEqual(complaints, [])
    await row.getByRole("button", { name: /^Open the run of greeter/ }).click()
    await page.waitForURL(new RegExp(`#run=${run_id}`))
    await status(page, /^completed in [^]*tokens$/)
    await written(page, /^agent greeter \{$/m)
    await hasValue(page.getByRole("textbox", { name: "name" }), mark)
    await hasAttribute(page.getByRole("button", { name: "Run 0 changed steps" }), "aria-disabled", "true")
    // To the list, then to the run that was shown before.
    await page.goBack()
    await page.getByRole("tab", { name: "Runs", selected: true }).waitFor()
    await page.goBack()
    await page.waitForURL(own)
    await written(page, /one agent, one answer/)
    await page.getByRole("tab", { name: "Timeline", selected: true }).waitFor()
    await page.goForward()
    await page.goForward()
    await page.waitForURL(new RegExp(`#run=${run_id}`))
    await written(page, /^agent greeter \{$/m)
    await close()
  })
}
