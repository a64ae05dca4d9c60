import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { describe, test } from "node:test"
import { deflateRawSync } from "node:zlib"
import {
  copied,
  editor,
  hasValue,
  historyIsKept,
  openExample,
  refused,
  runToEnd,
  tab,
  write,
  written,
} from "./actions.ts"
import { openPlayground } from "./open-playground.ts"
import { fillSecrets, secret, secretive, share } from "./secretive.ts"

const playground = await openPlayground()

describe("sharing", () => {
  test("a damaged link is reported", async () => {
    const { page, close } = await playground.visit({
      path: "/playground#w1=abcdef",
      says: "This link is damaged",
    })
    await written(page, /agent greeter/)
    await close()
  })

  test("a link cannot stop the page, now or at the next visit, and runs nothing by itself", async () => {
    const many = Array.from({ length: 20_000 }, (_, at) => `f${at}: string`).join("\n")
    const fields = Array.from({ length: 20 }, (_, at) => at)
    const record = (level: number): string =>
      `schema s${level} { ${fields.map((at) => `f${at}: ${level === 5 ? "string" : `schema.s${level + 1}`}`).join("\n")} }`
    const sources = [
      `input { ${many} }\noutput { x: 1 }`,
      `${[0, 1, 2, 3, 4, 5].map(record).join("\n")}\ninput { a: schema.s0 }\noutput { x: 1 }`,
      "secrets { constructor: string\n __proto__: string }\ninput { toString: string }\noutput { x: input.toString }",
      `secrets { ${many} }\noutput { x: 1 }`,
    ]
    for (const source of sources) {
      const packed = deflateRawSync(JSON.stringify({ source, input: {} })).toString("base64url")
      const { page, requests, close } = await playground.visit({ path: `/playground#w1=${packed}` })
      await page.getByText("This workflow came by a link.").waitFor()
      await page.reload()
      await page.getByText("This workflow came by a link.").waitFor()
      await tab(page, "Secrets")
      await page.getByRole("tab", { name: /^Secrets/, selected: true }).waitFor()
      assert.deepEqual(
        requests.filter((request) => request.method() !== "GET").map((request) => request.url()),
        [],
      )
      await close()
    }
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
