import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { copied, runToEnd, says, tab, write } from "../actions.ts"
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
    await says(details, new RegExp(`Exact bytes sent[^]*${createHash("sha256").update(body).digest("hex")}`))
    const curl = await copied(page, details.getByRole("button", { name: "Copy as curl" }), "Request as curl copied.")
    assert.match(curl, /^curl -X POST 'http:[^']+\/responses'/)
    assert.ok(curl.includes(`--data-binary '${body.replaceAll("'", "'\\''")}'`))
    const complaints: string[] = []
    await lookAt(page, complaints)("request")
    assert.deepEqual(complaints, [])
    await close()
  })

  test("the request of a model call is shown to the byte in all four APIs, and runs in a shell as it was copied", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    for (const [api, path] of [
      ["openai", "/demo/v1/responses"],
      ["openai_chat", "/demo/v1/chat/completions"],
      ["anthropic", "/demo/v1/messages"],
      ["google", "/demo/v1beta/models/demo:streamGenerateContent?alt=sse"],
    ] as const) {
      await write(page, greeting(api))
      await runToEnd(page)
      await tab(page, "Timeline")
      await page.getByRole("treeitem", { name: /^model call/ }).click()
      const details = page.getByRole("region", { name: "Details" })
      await says(details, /Request, as sent/)
      await details
        .locator("code", { hasText: /^POST http/ })
        .filter({ hasText: path })
        .waitFor()
      const body = await copied(page, details.getByRole("button", { name: "Copy body" }), "Body copied.")
      await says(details, new RegExp(`Exact bytes sent[^]*${createHash("sha256").update(body).digest("hex")}`))
      const curl = await copied(page, details.getByRole("button", { name: "Copy as curl" }), "Request as curl copied.")
      const called = spawnSync("sh", ["-c", `${curl.trimEnd()} -sS --fail`])
      assert.equal(called.status, 0, `${api}: ${called.stderr.toString()}`)
      assert.match(called.stdout.toString(), /^(?:event|data): /, api)
    }
    await close()
  })

  test("a call of an HTTP tool and one of an MCP tool show the requests as they were sent", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    await write(page, tools)
    await runToEnd(page)
    await tab(page, "Timeline")
    const details = page.getByRole("region", { name: "Details" })
    const curlOf = async (row: RegExp, line: RegExp): Promise<string> => {
      await page.getByRole("treeitem", { name: row }).click()
      await says(details, line)
      return copied(page, details.getByRole("button", { name: "Copy as curl" }), "Request as curl copied.")
    }
    const get = await curlOf(
      /^tool\.find_contact /,
      /Request, as sent[^]*GET http\S+\/contacts\/c1[^]*It has no body\./,
    )
    assert.match(get, /^curl -X GET 'http:[^']+\/contacts\/c1'/)
    const post = await curlOf(/^tool\.find_books /, /Request, as sent[^]*POST http\S+\/demo\/mcp/)
    assert.match(post, /^curl -X POST 'http:[^']+'[^]*--data-binary '\{[^]*"arguments":\{"query":"sea"\}/)
    await says(details.getByRole("list", { name: "Body" }), /tools\/call/)
    const complaints: string[] = []
    await lookAt(page, complaints)("request-of-a-tool")
    assert.deepEqual(complaints, [])
    await close()
  })
}

/** With characters that a shell and JSON read otherwise. */
function greeting(api: string): string {
  return `provider p from ${api} {
    endpoint: "demo"
}

model m from p {
    id: "demo"
}

agent greeter {
    model: model.m
    instruction: "Greet Ada: it's $HOME, \\"quoted\\", in ${api}."

    output {
        greeting: string
    }
}

output {
    greeting: agent.greeter.greeting
}
`
}

const tools = `api crm {
    endpoint: "demo"
}

tool find_contact from api.crm."GET /contacts/{id}" {
    input {
        id: string
    }
}

mcp demo {
    endpoint: "demo"
}

tool find_books from mcp.demo.tool.find-books

output {
    contact: call tool.find_contact { input { id: "c1" } }
    books: call tool.find_books { input { query: "sea" } }
}
`
