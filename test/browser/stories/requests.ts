import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { copied, runToEnd, says } from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"

export function requests(playground: Playground): void {
  test("a model call shows the request as it was sent, with its hash, and copies it as curl", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    await runToEnd(page)
    await page.getByRole("treeitem", { name: /^model call/ }).click()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByRole("heading", { name: "Request, as sent" }).waitFor()
    await says(details.getByRole("list", { name: "Body" }), /Greet Ada in one sentence\./)
    const body = await copied(page, details.getByRole("button", { name: "Copy body" }), "Body copied.")
    assert.equal((JSON.parse(body) as { model: string }).model, "demo")
    await says(details, new RegExp(`To the byte what was sent[^]*${createHash("sha256").update(body).digest("hex")}`))
    const curl = await copied(page, details.getByRole("button", { name: "Copy as curl" }), "Request as curl copied.")
    assert.match(curl, /^curl -X POST 'http:[^']+\/responses'/)
    assert.ok(curl.includes(`--data-binary '${body.replaceAll("'", "'\\''")}'`))
    const complaints: string[] = []
    await lookAt(page, complaints)("request")
    assert.deepEqual(complaints, [])
    await close()
  })
}
