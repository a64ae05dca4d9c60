import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { copied, runToEnd, says, tab, write } from "./actions.ts"
import { openPlayground, screenshots } from "./open-playground.ts"

const playground = await openPlayground()

const source = `api crm {
    endpoint: "demo"
}

tool find_contact from api.crm."GET /contacts/{id}" {
    input {
        id: string
    }
}

output {
    contact: call tool.find_contact { input { id: "c1" } }
}
`

test("the details of a call of an api show the api, the method and the status", async () => {
  const { page, close } = await playground.visit()
  await write(page, source)
  await runToEnd(page)
  await tab(page, "Timeline")
  await page.getByRole("treeitem", { name: /^tool\.find_contact / }).click()
  await says(page.locator(".facts").first(), /Server.*api\.crm.*Method.*GET.*Status.*200/s)
  const details = page.getByRole("region", { name: "Details" })
  await says(details, /Request, as sent.*GET http\S+\/contacts\/c1.*It has no body/s)
  const curl = await copied(page, details.getByRole("button", { name: "Copy as curl" }), "Request as curl copied.")
  assert.match(curl, /^curl -X GET 'http\S+\/contacts\/c1'/)
  await page.screenshot({ path: join(screenshots, "http-tool.png") })
  await close()
})
