import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { describe, test } from "node:test"
import type { Page } from "playwright-core"
import {
  editor,
  eventually,
  hasFocus,
  hasValue,
  historyIsKept,
  nodeSays,
  openExample,
  run,
  runToEnd,
  status,
  tab,
  write,
  written,
} from "./actions.ts"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()

describe("files", () => {
  const own = `output {\n    word: "mine"\n}\n`

  test("opened, dropped, made, renamed, downloaded and closed in tabs; nothing replaces edits, and undo brings back all of a file", async () => {
    const { page, context, close } = await playground.visit()
    const tabs = page.getByRole("tablist", { name: "Files" }).getByRole("tab")
    const shows = async (...names: string[]): Promise<void> => {
      await page.waitForFunction((wanted) => {
        const shown = [...document.querySelectorAll("[aria-label=Files] [role=tab]")].map((one) => one.textContent)
        return JSON.stringify(shown) === wanted
      }, JSON.stringify(names))
    }
    const name = page.getByRole("textbox", { name: "name string" })
    // Without edits another example takes its place, in one step that can be undone.
    await openExample(page, "Chain")
    await name.waitFor({ state: "detached" })
    await shows("Chain")
    await editor(page).press("ControlOrMeta+z")
    await hasValue(name, "Ada")
    await written(page, /agent greeter/)
    await shows("Hello")
    // With edits it opens beside them.
    await name.fill("Grace")
    await openExample(page, "Chain")
    await shows("Hello, edited", "Chain")
    await tabs.nth(0).click()
    await hasValue(name, "Grace")
    await runToEnd(page)
    await tabs.nth(1).click()
    await page.locator(".status", { hasText: "Ready" }).waitFor()
    await tabs.nth(0).click()
    await status(page, /completed in/)
    await nodeSays(page, "agent.greeter", /done/)

    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Open a file" }).click(),
    ])
    await chooser.setFiles({ name: "mine.wire", mimeType: "text/plain", buffer: Buffer.from(own) })
    await shows("Hello, edited", "Chain", "mine")
    await written(page, own)
    const drop = editor(page).evaluate(
      (element, text) => {
        const dataTransfer = new DataTransfer()
        const bad = [
          new File(["a,b"], "table.csv"),
          new File(["x".repeat(1_000_001)], "huge.wire"),
          new File([new Uint8Array([0xff, 0xfe, 0])], "binary.wire"),
        ]
        const good = [new File([text], "dropped.wire"), new File([text], "mine.wire")]
        for (const file of [...bad, ...good]) dataTransfer.items.add(file)
        for (const type of ["dragover", "drop"]) {
          element.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, composed: true, cancelable: true }))
        }
      },
      own.replace("mine", "dropped"),
    )
    const sentences = ["table.csv is not a .wire file", "huge.wire is larger than 1 MB", "binary.wire is not a text"]
    await Promise.all([
      ...sentences.map((one) => page.locator(".notice", { hasText: `Not opened: ${one}` }).waitFor()),
      drop,
    ])
    // Files from a disk stay open beside each other, and each tab has a name of its own.
    await shows("Hello, edited", "Chain", "mine", "dropped", "mine 2")
    await page.getByRole("button", { name: "Close mine 2" }).click()
    await written(page, /"dropped"/)

    // A name that is taken is refused with a reason; undo brings back the old one.
    await tabs.nth(3).dblclick()
    const dialog = page.getByRole("dialog", { name: "Rename dropped" })
    await page.keyboard.type("Mine")
    await page.keyboard.press("Enter")
    await dialog.getByText("Another open file is called Mine.").waitFor()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.type("A good name.wire")
    await page.keyboard.press("Enter")
    await shows("Hello, edited", "Chain", "mine", "A good name, edited")
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download this file" }).click(),
    ])
    assert.equal(download.suggestedFilename(), "A-good-name.wire")
    assert.equal(readFileSync(await download.path(), "utf8"), own.replace("mine", "dropped"))
    await editor(page).press("ControlOrMeta+z")
    await shows("Hello, edited", "Chain", "mine", "dropped")
    await tabs.nth(3).press("F2")
    await dialog.waitFor()
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
    await hasFocus(tabs.nth(3))

    await page.getByRole("button", { name: "New file" }).click()
    await hasFocus(editor(page))
    await page.keyboard.type("output {")
    await page.getByRole("button", { name: "Close Untitled" }).click()
    await page.getByRole("button", { name: "Keep it open" }).click()
    await page.evaluate(() => dispatchEvent(new Event("pagehide")))
    await page.reload()
    await shows("Hello, edited", "Chain", "mine", "dropped", "Untitled, edited")
    await written(page, /^output \{/)
    await page.getByRole("button", { name: "Close Untitled" }).click()
    await page.getByRole("button", { name: "Close without them" }).click()
    await page.getByRole("button", { name: "Close dropped" }).click()
    await page.getByRole("button", { name: "Close mine" }).click()
    await shows("Hello, edited", "Chain")

    // Another tab of the browser begins with the same files. Both edit one of them: the next visit has both versions.
    const saved = (one: Page) => one.evaluate(() => dispatchEvent(new Event("pagehide")))
    await saved(page)
    const other = await context.newPage()
    await other.goto(`${playground.address}/playground`)
    await write(other, own.replace("mine", "theirs"))
    await saved(other)
    await write(page, own.replace("mine", "ours"))
    await saved(page)
    await other.close()
    const later = await context.newPage()
    await later.goto(`${playground.address}/playground`)
    const kept = later.getByRole("tablist", { name: "Files" }).getByRole("tab")
    await eventually(async () => {
      assert.deepEqual(await kept.allTextContents(), ["Hello, edited", "Chain, edited", "Chain 2, edited"])
    })
    // Which of them comes first depends on whether the page that was closed had the time to save once more.
    await kept.nth(2).click()
    await written(later, /"(ours|theirs)"/)
    const isTheirs = (await editor(later).innerText()).includes("theirs")
    await kept.nth(1).click()
    await written(later, isTheirs ? /"ours"/ : /"theirs"/)
    await later.close()
    await close()
  })
})

describe("history", () => {
  test("a run that is found again before the list of runs has been loaded leaves the others in it", async () => {
    const { page, close } = await playground.visit()
    await runToEnd(page)
    await page.getByRole("textbox", { name: "name" }).fill("Grace")
    await run(page)
    await historyIsKept(page, 2)
    await page.addInitScript(() => {
      const getAll = Reflect.get(IDBObjectStore.prototype, "getAll") as (...values: unknown[]) => IDBRequest<unknown[]>
      let calls = 0
      IDBObjectStore.prototype.getAll = function (...values) {
        const request = getAll.apply(this, values)
        if (calls++ > 0) return request
        const late = { result: undefined as unknown, onsuccess: null as (() => void) | null }
        request.onsuccess = () => {
          setTimeout(() => {
            late.result = request.result
            late.onsuccess?.()
          }, 2_000)
        }
        return late as unknown as IDBRequest<unknown[]>
      }
    })
    await page.reload()
    await tab(page, "History")
    const rows = page.getByRole("list", { name: "Earlier runs" }).getByRole("listitem")
    await rows.nth(1).waitFor()
    await rows
      .nth(1)
      .getByRole("button", { name: /^Look at Hello/ })
      .click()
    await page.getByRole("treeitem", { name: /^agent\.greeter/ }).waitFor()
    await tab(page, "Output")
    await page.getByText("Hello, Ada.").waitFor()
    await close()
  })
})

describe("re-runs", () => {})
