import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import { editor, hasCount, hasValue, nodeSays, runToEnd, says, status, write, written } from "../actions.ts"
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

  test("a run is found in the console, and opens in the playground with its own source and input; back and forward go between what was seen", async () => {
    // Somebody else's, with the command line.
    const mark = `Zoë of ${Date.now()}`
    const started = await fetch(`${playground.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workflow_source: greeter, input: { name: mark } }),
    })
    const run_id = started.headers.get("x-service-run-id") ?? ""
    const { page, close } = await playground.visit({
      colorScheme: "light",
      reducedMotion: "reduce",
      path: `/console/runs?q=${encodeURIComponent(mark)}`,
    })
    const list = page.getByRole("region", { name: "List of runs" })
    await hasCount(list.locator("tbody tr"), 1)
    await says(list, new RegExp(`greeter[^]*name: ${mark}[^]*→[^]*greeting: [^]*done`))
    await list.getByRole("link", { name: "greeter" }).click()
    await page.waitForURL(new RegExp(`run=${run_id}`))
    await says(page.getByRole("region", { name: "The run" }), /completed in [^]*greeting/)
    const complaints: string[] = []
    await lookAt(page, complaints)("console-run")
    assert.deepEqual(complaints, [])
    await page.goBack()
    await hasCount(page.getByRole("region", { name: "The run" }), 0)
    await page.goForward()
    await page.getByRole("link", { name: "Open in playground" }).click()
    await page.waitForURL(new RegExp(`playground#run=${run_id}`))
    await status(page, /^completed in [^]*tokens$/)
    await written(page, /^agent greeter \{$/m)
    await hasValue(page.getByRole("textbox", { name: "name" }), mark)
    await hasCount(page.getByRole("button", { name: /changed/ }), 0)
    await page.goBack()
    await page.getByRole("searchbox", { name: "Search the runs" }).waitFor()
    await close()
  })

  test("a run of a served workflow runs again: the same version, or the one that is served now", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    const mark = `Ada of ${Date.now()}`
    const started = await fetch(`${playground.address}/workflows/tickets/triage/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ input: { name: mark } }),
    })
    assert.equal(started.status, 200)
    const first = started.headers.get("x-service-run-id") ?? ""
    const shown = new Set([first])
    let before = first
    await page.goto(`${playground.address}/console/runs?run=${first}`)
    for (const version of ["The same version", "The version that is served now"]) {
      await page.getByRole("button", { name: "Run again" }).click()
      await page.getByRole("menuitem", { name: version }).click()
      await page.waitForURL((url) => {
        const run_id = url.searchParams.get("run")
        return run_id !== null && !shown.has(run_id)
      })
      const run_id = new URL(page.url()).searchParams.get("run") ?? ""
      shown.add(run_id)
      await page.getByText(/^completed in /).waitFor()
      const record = (await (await fetch(`${playground.address}/execute/${run_id}`)).json()) as Record<string, unknown>
      assert.deepEqual([record["workflow"], record["rerun_of"]], ["tickets/triage", before])
      before = run_id
    }
    await close()
  })
}
