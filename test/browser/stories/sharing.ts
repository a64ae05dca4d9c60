import assert from "node:assert/strict"
import { test } from "node:test"
import {
  copied,
  hasAttribute,
  hasCount,
  hasValue,
  historyIsKept,
  refused,
  run,
  runToEnd,
  says,
  status,
  tab,
  write,
  written,
} from "../actions.ts"
import { atStrength } from "../../support/strength.ts"
import { lookAt } from "../look-at.ts"
import { fillSecrets, paste, secret, secretive, share } from "../secretive.ts"
import type { Playground } from "../open-playground.ts"

export function sharing(playground: Playground): void {
  test("a part of the page that did not come says so, and comes with the next reload", async () => {
    const { page, close } = await playground.visit({ expected: /Failed to (?:load|fetch)/ })
    let isDown = true
    await page.route(/later-parts-/, (route) => (isDown ? route.abort() : route.continue()))
    await page.reload()
    const button = page.getByRole("button", { name: "Share", exact: true })
    await button.click()
    await page.getByText("A part of the page could not be loaded. Reload the page.").waitFor()
    isDown = false
    await page.reload()
    await button.click()
    await page.getByRole("dialog", { name: "Share" }).waitFor()
    await close()
  })

  test("a link holds source and input; what came by it asks before its first run", async () => {
    const author = await playground.visit()
    await write(author.page, secretive)
    await author.page.getByRole("textbox", { name: "name string" }).fill("Grace")
    const link = await share(author.page)
    await author.close()

    const reader = await playground.visit({
      path: link.slice(playground.address.length),
      colorScheme: "light",
      reducedMotion: "reduce",
    })
    const { page } = reader
    const complaints: string[] = []
    const look = atStrength(async () => {}, lookAt(page, complaints))
    const banner = page.getByText("This workflow came by a link.")
    await banner.waitFor()
    await page.waitForURL(/\/playground(#file=[^&]+)?$/)
    await written(page, /^input \{\n {4}name: string/)
    await hasValue(page.getByRole("textbox", { name: "name string" }), "Grace")
    await refused(page, () => run(page), /secrets\.api_key/)
    // The page names the receivers before the secret is typed.
    const field = page.getByRole("textbox", { name: /^api_key/ })
    await hasValue(field, "")
    await page
      .locator(".form-field", { hasText: "api_key" })
      .getByText("Would go to the demo model of this service.")
      .waitFor()
    await fillSecrets(page)
    await page.locator(".notice").waitFor({ state: "detached" })
    await run(page)
    const dialog = page.getByRole("dialog", { name: "Run a workflow that came by a link?" })
    await says(dialog, /the demo model of this service\s+secrets\.api_key\s+secrets\.limits\s+secrets\.note/)
    await look("link-confirm")
    await dialog.getByRole("button", { name: "Not now" }).click()
    await look("link")
    assert.equal(reader.requests.filter((request) => request.method() === "POST").length, 0)
    // A reload does not make it one's own.
    await page.reload()
    await page.getByText("This workflow came by a link.").waitFor()
    await tab(page, "Secrets")
    await fillSecrets(page)
    await run(page)
    await dialog.getByRole("button", { name: "Run it" }).click()
    await status(page, /completed in/)
    await hasCount(banner, 0)
    // Asked once.
    await runToEnd(page)
    await reader.close()
    assert.deepEqual(complaints, [])
  })

  test("after a visit with secrets nothing but the run itself has seen them", async () => {
    const { page, context, requests, close } = await playground.visit()
    await write(page, secretive)
    await page.getByRole("textbox", { name: "name string" }).fill("Ada")
    await tab(page, "Secrets")
    const field = page.getByRole("textbox", { name: /^api_key/ })
    await hasAttribute(field, "type", "password")
    const limits = page.getByRole("textbox", { name: /^limits/ })
    // Of a text that names no secret, the one field is filled as ever.
    await paste(limits, '{ "most": 3 }')
    await hasValue(limits, "")
    // Into any field, for all that it names.
    await paste(page.getByRole("textbox", { name: /^note/ }), JSON.stringify({ api_key: secret, limits: { most: 3 } }))
    await hasValue(field, secret)
    await hasValue(limits, '{"most":3}')
    await hasValue(page.getByRole("textbox", { name: /^note/ }), "")
    const complaints: string[] = []
    await lookAt(page, complaints)("pasted-secrets")
    assert.deepEqual(complaints, [])
    await page.getByRole("button", { name: "Show api_key" }).click()
    await hasAttribute(field, "type", "text")
    await runToEnd(page)
    const link = await share(page)
    await page.keyboard.press("Escape")
    await tab(page, "Events")
    const copy = page.getByRole("region", { name: "Results" }).getByRole("button", { name: "Copy", exact: true })
    const events = await copied(page, copy, /events copied/)

    await historyIsKept(page, 1)
    await page.evaluate(() => dispatchEvent(new Event("pagehide")))
    const stored = JSON.stringify(await context.storageState({ indexedDB: true }))
    const session = await page.evaluate(() => JSON.stringify(Object.entries(sessionStorage)))
    assert.match(stored, /agent greeter/)
    assert.match(session, /agent greeter/)
    const unpacked = await page.evaluate(async (address) => {
      const packed = (address.split("#w1=")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")
      const bytes = Uint8Array.from(atob(packed), (unit) => unit.charCodeAt(0))
      return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text()
    }, link)
    assert.match(unpacked, /agent greeter/)
    const sent = requests
      .filter((request) => !/\/(execute|validate)$/.test(new URL(request.url()).pathname))
      .map((request) => `${request.url()} ${JSON.stringify(request.headers())} ${request.postData() ?? ""}`)
    assert.ok(requests.some((request) => (request.postData() ?? "").includes(secret)))
    const places = { stored, session, unpacked, events, url: page.url(), cookies: "", sent: sent.join("\n") }
    const encoded = Buffer.from(secret).toString("base64").slice(0, -4)
    for (const [place, content] of Object.entries(places)) {
      assert.ok(!content.includes(secret) && !content.includes(encoded), place)
    }
    await close()
  })
}
