import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { describe, test } from "node:test"
import type { Page } from "playwright-core"
import {
  copied,
  editor,
  hasAttribute,
  hasCount,
  hasValue,
  historyIsKept,
  openExample,
  refused,
  run,
  runToEnd,
  says,
  status,
  tab,
  write,
  written,
} from "./actions.ts"
import { lookAt } from "./look-at.ts"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()

/** Its key goes to the demo model, which asks for none. */
const secretive = `input {
    name: string
}

secrets {
    /// For the demo, any will do
    api_key: string
    note: maybe string
    limits: { most: integer }
}

provider demo from openai {
    endpoint: "demo"
    api_key: secrets.api_key

    headers {
        "X-Note": "{{ secrets.note ?? "none" }}"
        "X-Most": "{{ secrets.limits.most }}"
    }
}

model small from demo {
    id: "demo"
}

agent greeter {
    model: model.small
    instruction: "Greet {{ input.name }}, it's a \\\\ 'quoted' \\"day\\" for $HOME and \`ticks\`."

    output {
        greeting: string
    }
}

output {
    greeting: agent.greeter.greeting
}
`
const secret = "sk-do-not-tell-0123456789"

async function fillSecrets(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: /^api_key/ }).fill(secret)
  await page.getByRole("textbox", { name: /^limits/ }).fill('{ "most": 3 }')
}

async function share(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Share" }).click()
  return copied(page, page.getByRole("button", { name: "Copy link" }), "Link copied.")
}

describe("sharing", () => {
  test("a link holds source and input; what came by it asks before its first run", async () => {
    const author = await playground.visit()
    await write(author.page, secretive)
    await author.page.getByRole("textbox", { name: "name string" }).fill("Grace")
    const link = await share(author.page)
    await author.close()

    const reader = await playground.visit({ path: link.slice(playground.address.length), reducedMotion: "reduce" })
    const { page } = reader
    const complaints: string[] = []
    const look = lookAt(page, complaints)
    const banner = page.getByText("This workflow came by a link.")
    await banner.waitFor()
    await page.waitForURL(`${playground.address}/playground`)
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

  test("a damaged link is reported", async () => {
    const { page, close } = await playground.visit({
      path: "/playground#w1=abcdef",
      says: "This link is damaged",
    })
    await written(page, /agent greeter/)
    await close()
  })

  test("curl, TypeScript, Python and PHP run as they were copied; no snippet holds a secret", async () => {
    const { page, close } = await playground.visit()
    await write(page, secretive)
    await page.getByRole("textbox", { name: "name string" }).fill("Ada")
    await tab(page, "Secrets")
    await page.getByRole("textbox", { name: /^api_key/ }).fill(secret)
    await page.getByRole("button", { name: "Share" }).click()
    const snippets: Record<string, string> = {}
    for (const language of ["curl", "TypeScript", "Python", "PHP"]) {
      await page.getByRole("tab", { name: language }).click()
      const button = page.getByRole("button", { name: "Copy", exact: true })
      const snippet = await copied(page, button, `${language} copied.`)
      assert.doesNotMatch(snippet, /do-not-tell/)
      assert.match(snippet, /API_KEY/)
      snippets[language] = snippet
    }
    await close()
    const folder = mkdtempSync(join(tmpdir(), "wireworks-snippets-"))
    try {
      const commands: [string, string, string][] = [
        ["curl", "bash", "request.sh"],
        ["TypeScript", process.execPath, "request.mts"],
        ["Python", "python3", "request.py"],
        // Where it is not installed, the tests of the snippets are listed as skipped.
        ...(spawnSync("php", ["-v"]).status === 0 ? [["PHP", "php", "request.php"] as [string, string, string]] : []),
      ]
      for (const [language, command, file] of commands) {
        writeFileSync(join(folder, file), snippets[language] ?? "")
        const child = spawn(command, [join(folder, file)], {
          env: { ...process.env, API_KEY: `${secret} "x"\\'`, LIMITS: '{ "most": 3 }', NODE_NO_WARNINGS: "1" },
          stdio: ["ignore", "pipe", "pipe"],
        })
        const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
        assert.match(out, /"greeting":"?\s*"Hello, Ada/, `${language}: ${out}${err}`)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe("secrets", () => {
  test("after a visit with secrets nothing but the run itself has seen them", async () => {
    const { page, context, requests, close } = await playground.visit()
    await write(page, secretive)
    await page.getByRole("textbox", { name: "name string" }).fill("Ada")
    await tab(page, "Secrets")
    const field = page.getByRole("textbox", { name: /^api_key/ })
    await hasAttribute(field, "type", "password")
    await field.fill(secret)
    await page.getByRole("button", { name: "Show api_key" }).click()
    await hasAttribute(field, "type", "text")
    await page.getByRole("textbox", { name: /^limits/ }).fill('{ "most": 3 }')
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

  test("a secret that was pasted into the source or the input is neither kept nor shared", async () => {
    const { page, context, close } = await playground.visit()
    await write(page, secretive)
    await tab(page, "Secrets")
    await fillSecrets(page)
    await tab(page, "Input")
    await page.getByRole("textbox", { name: "name string" }).fill(`Ada ${secret}`)
    const share = page.getByRole("button", { name: "Share" })
    await refused(page, () => share.click(), /secrets\.api_key is in the source or the input/)
    await runToEnd(page)
    await historyIsKept(page, 1)
    await page.evaluate(() => dispatchEvent(new Event("pagehide")))
    const stored = JSON.stringify(await context.storageState({ indexedDB: true }))
    const session = await page.evaluate(() => JSON.stringify(Object.entries(sessionStorage)))
    assert.ok(!stored.includes(secret) && !session.includes(secret))
    await close()
  })

  test("opening a link takes no secrets along", async () => {
    const { page, close } = await playground.visit()
    await write(page, secretive)
    await tab(page, "Secrets")
    await page.getByRole("textbox", { name: /^api_key/ }).fill(secret)
    const link = await share(page)
    await page.keyboard.press("Escape")
    await openExample(page, "Hello")
    await page.evaluate((address) => (location.hash = new URL(address).hash), link)
    await page.getByText("This workflow came by a link.").waitFor()
    await tab(page, "Secrets")
    await hasValue(page.getByRole("textbox", { name: /^api_key/ }), "")
    await editor(page).waitFor()
    await close()
  })
})
