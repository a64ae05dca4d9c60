import assert, { AssertionError } from "node:assert/strict"
import { setTimeout as delay } from "node:timers/promises"
import type { Locator, Page } from "playwright-core"

// What a person does and sees, in words. The page may be slow or fast: what it shows is waited for, never read once.

/** Looks until what it asserts holds; after a minute it fails as the last look did. */
export async function eventually(look: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + 60_000
  for (;;) {
    try {
      await look()
      return
    } catch (error) {
      if (!(error instanceof AssertionError) || Date.now() > deadline) throw error
    }
    await delay(50)
  }
}

/** The text of what is there, once it matches. */
export function says(target: Locator, text: RegExp): Promise<void> {
  return eventually(async () => assert.match(await target.innerText(), text))
}

export function hasValue(field: Locator, value: string): Promise<void> {
  return eventually(async () => assert.equal(await field.inputValue(), value))
}

export function hasCount(target: Locator, count: number): Promise<void> {
  return eventually(async () => assert.equal(await target.count(), count))
}

export function hasAttribute(target: Locator, name: string, value: string): Promise<void> {
  return eventually(async () => assert.equal(await target.getAttribute(name), value))
}

export function hasFocus(target: Locator): Promise<void> {
  return eventually(async () =>
    assert.ok(await target.evaluate((element) => element.matches(":focus")), `${String(target)} has the focus`),
  )
}

export async function run(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run", exact: true }).click()
}

/** The status line, once it says this; read in the page, because it may say something else a moment later. */
export async function status(page: Page, text: RegExp): Promise<string> {
  const found = await page.waitForFunction(
    ([source, flags]) => {
      const wanted = new RegExp(source ?? "", flags)
      const shown = [...document.querySelectorAll<HTMLElement>(".status")].filter((line) => line.checkVisibility())
      return shown.map((line) => line.textContent.replace(/\s+/g, " ").trim()).find((line) => wanted.test(line))
    },
    [text.source, text.flags],
    { polling: 100 },
  )
  return String(await found.jsonValue())
}

export async function runToEnd(page: Page, end = /completed in/): Promise<string> {
  await run(page)
  return status(page, end)
}

export async function openExample(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Open", exact: true }).click()
  await page.getByRole("menuitemradio", { name: new RegExp(`^${name}`) }).click()
  const tabs = page.getByRole("tablist", { name: "Files" })
  await tabs.getByRole("tab", { name: new RegExp(`^${name}`), selected: true }).waitFor()
}

export function editor(page: Page): Locator {
  return page.getByRole("textbox", { name: "Workflow source" })
}

/** Pastes a text over the one that is there; not by the clipboard, which visits that go on side by side share. */
export async function write(page: Page, source: string): Promise<void> {
  await editor(page).focus()
  await page.keyboard.press("ControlOrMeta+a")
  await editor(page).evaluate((element, text) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData("text/plain", text)
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }))
  }, source)
}

/** The text in the editor, once it is or matches this; whole as long as it fits into the view. */
export function written(page: Page, text: string | RegExp): Promise<void> {
  return eventually(async () => {
    const lines = await editor(page).locator(".cm-line").allInnerTexts()
    const shown = lines.map((line) => line.replaceAll("\u200b", "").replace(/\n$/, "")).join("\n")
    if (typeof text === "string") assert.equal(shown.trimEnd(), text.trimEnd())
    else assert.match(shown, text)
  })
}

/** Waits until the page knows the names of the text in the editor, which were written a moment ago. */
export function understood(page: Page): Promise<void> {
  return editor(page).locator(".wire-root").first().waitFor()
}

/** Puts the cursor before the first place where the text stands. */
export async function cursorAt(page: Page, text: string): Promise<void> {
  await editor(page).focus()
  await page.keyboard.press("ControlOrMeta+f")
  const search = page.getByRole("textbox", { name: "Find" })
  await search.pressSequentially(text)
  await page.keyboard.press("Enter")
  await page.keyboard.press("Escape")
  await page.keyboard.press("ArrowLeft")
}

export async function tab(page: Page, name: string): Promise<void> {
  await page.getByRole("tab", { name: new RegExp(`^${name}`) }).click()
}

export function node(page: Page, id: string): Locator {
  return page.locator(`[data-node="${id}"]`)
}

/** What a node says, once it says this. */
export async function nodeSays(page: Page, id: string, text: RegExp): Promise<void> {
  await page.locator(`[data-node="${id}"]`, { hasText: text }).waitFor()
}

/** The clipboard belongs to one visit at a time: visits that go on side by side share it. */
let clipboard: Promise<unknown> = Promise.resolve()

/** What a press of the button copies; the page says so for three seconds. */
export function copied(page: Page, button: Locator, notice: string | RegExp): Promise<string> {
  const copy = async (): Promise<string> => {
    await Promise.all([page.locator(".notice", { hasText: notice }).waitFor(), button.click()])
    return page.evaluate(() => navigator.clipboard.readText())
  }
  const text = clipboard.then(copy)
  clipboard = text.catch(() => undefined)
  return text
}

/** Waits until the browser's database holds this many ended runs, one of them with the label: the page shows them sooner. */
export async function historyIsKept(page: Page, count: number, label?: string): Promise<void> {
  await page.locator(".tab", { hasText: new RegExp(`History\\s*${count}`) }).waitFor()
  const kept = (): Promise<{ label?: string }[]> =>
    page.evaluate(
      () =>
        new Promise((resolve, reject) => {
          const opened = indexedDB.open("wireworks", 1)
          opened.onerror = () => reject(new Error("The database does not open"))
          opened.onsuccess = () => {
            const runs = opened.result.transaction("runs").objectStore("runs").getAll()
            runs.onerror = () => reject(new Error("The database cannot be read"))
            runs.onsuccess = () => {
              opened.result.close()
              resolve(runs.result)
            }
          }
        }),
    )
  await eventually(async () => {
    const runs = await kept()
    assert.equal(runs.length, count)
    if (label !== undefined)
      assert.ok(
        runs.some((run) => run.label === label),
        label,
      )
  })
}

/** A workflow of one step after the other, each as slow as the demo's slow model. */
export function slowChain(steps: number, endpoint = "demo"): string {
  const agents = Array.from({ length: steps }, (_, at) => {
    const before = at === 0 ? "" : `{{ agent.step${at}.text }}`
    return `
agent step${at + 1} {
    model: model.slow
    instruction: "Say it in a word. ${before}"

    output {
        text: string
    }
}
`
  })
  return `provider demo from openai {
    endpoint: "${endpoint}"
}

model slow from demo {
    id: "demo-slow"
}
${agents.join("")}
output {
    text: agent.step${steps}.text
}
`
}

/** Does what is refused, and waits for the sentence that says so. It leaves when it is no longer true, or after eight seconds. */
export async function refused(page: Page, act: () => Promise<void>, sentence = /^Not /): Promise<void> {
  await Promise.all([page.locator(".notice", { hasText: sentence }).waitFor(), act()])
}

/** Points at something until this appears: a tooltip waits for the mouse to rest, and the page may move under it. */
export async function pointAt(page: Page, point: () => Promise<unknown>, tooltip: Locator): Promise<void> {
  for (let tries = 1; ; tries++) {
    await point()
    try {
      await tooltip.waitFor({ timeout: 3_000 })
      return
    } catch (error) {
      if (tries === 10) throw error
      await page.mouse.move(0, 0)
    }
  }
}

/** Where something is, once it has been there for three frames. */
export async function placeOf(target: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  return target.evaluate(async (element) => {
    const look = (): string => {
      const { x, y, width, height } = element.getBoundingClientRect()
      return JSON.stringify({ x, y, width, height })
    }
    for (let seen = look(), times = 0; ;) {
      await new Promise(requestAnimationFrame)
      const now = look()
      times = now === seen ? times + 1 : 0
      seen = now
      if (times === 3) return JSON.parse(seen) as { x: number; y: number; width: number; height: number }
    }
  })
}
