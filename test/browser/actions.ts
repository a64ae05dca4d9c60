import type { Locator, Page } from "playwright-core"

// What a person does, in words.

export async function run(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run", exact: true }).click()
}

/** The status line, once it says this. */
export async function status(page: Page, text: RegExp): Promise<string> {
  const line = page.locator(".status", { hasText: text })
  await line.waitFor()
  return line.innerText()
}

export async function runToEnd(page: Page, end = /completed in/): Promise<string> {
  await run(page)
  return status(page, end)
}

export async function openExample(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^Examples/ }).click()
  await page.getByRole("menuitemradio", { name: new RegExp(`^${name}`) }).click()
}

export function editor(page: Page): Locator {
  return page.getByRole("textbox", { name: "Workflow source" })
}

/** Pastes a text over the one that is there. Not by the clipboard, which visits that go on side by side share. */
export async function write(page: Page, source: string): Promise<void> {
  await editor(page).focus()
  await page.keyboard.press("ControlOrMeta+a")
  await editor(page).evaluate((element, text) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData("text/plain", text)
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }))
  }, source)
}

/** The text in the editor; whole as long as it fits into the view. */
export async function written(page: Page): Promise<string> {
  const lines = await editor(page).locator(".cm-line").allInnerTexts()
  return lines.map((line) => line.replaceAll("\u200b", "").replace(/\n$/, "")).join("\n")
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

export async function clipboard(page: Page): Promise<string> {
  return page.evaluate(() => navigator.clipboard.readText())
}

/** A workflow of one step after the other, each as slow as the demo's slow model. */
export function slowChain(steps: number): string {
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
    endpoint: "demo"
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

/** The sentence that keeps a run from starting. */
export async function refusal(page: Page): Promise<string> {
  const notice = page.locator(".notice", { hasText: /^Not / })
  await notice.waitFor()
  return notice.innerText()
}

/** Points at something until it tells this: a tooltip waits for the mouse to rest, and the page may move under it. */
export async function pointAt(target: Locator, tooltip: Locator): Promise<void> {
  for (let tries = 1; ; tries++) {
    await target.hover()
    try {
      await tooltip.waitFor({ timeout: 2_000 })
      return
    } catch (error) {
      if (tries === 15) throw error
      await target.page().mouse.move(0, 0)
    }
  }
}
