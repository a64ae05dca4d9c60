import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import type { AxeResults } from "axe-core"
import type { Page } from "playwright-core"
import { screenshots } from "./open-playground.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Everything that axe finds wrong with the page as it is, one line each. */
async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // The debugger's own world: the page's policy does not concern it.
  if ((await page.evaluate("typeof axe")) !== "object") await page.evaluate(axe)
  const options = {
    resultTypes: ["violations"],
    preload: false,
    iframes: false,
    ...(rules !== undefined && { runOnly: rules }),
  }
  const { violations: found } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
  return found
    .flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${help} at ${target.join(" ")}`))
    .filter((line) => !isCompletionList(line))
}

/**
 * CodeMirror's list of completions scrolls with the arrow keys while the focus stays in the editor, which names the active option
 * (`aria-activedescendant`). axe knows this pattern for `combobox` only; the editor is a `textbox`.
 */
function isCompletionList(line: string): boolean {
  return line.startsWith("scrollable-region-focusable:") && /#cm-ac-\w+$/.test(line)
}

/**
 * Looks at the view as it is, in both themes: takes a picture of each (not where `CI` is set), and adds what axe finds, and what is beyond the edge, to
 * `complaints`. The visit needs `reducedMotion`, because colours that change slowly have no contrast yet.
 */
export function lookAt(page: Page, complaints: string[], prefix = ""): (view: string) => Promise<void> {
  // Nobody looks at the pictures of a CI machine.
  const picture = async (view: string, theme: string): Promise<void> => {
    if (process.env["CI"] !== undefined) return
    await page.screenshot({ path: join(screenshots, `${prefix}${view}-${theme}.png`), animations: "disabled" })
  }
  return async (view) => {
    await page.mouse.move(0, 0)
    await picture(view, "light")
    for (const violation of await violations(page)) complaints.push(`${view}: ${violation}`)
    // The same elements in other colours.
    await page.emulateMedia({ colorScheme: "dark" })
    await picture(view, "dark")
    for (const violation of await violations(page, ["color-contrast"])) complaints.push(`${view}, dark: ${violation}`)
    await page.emulateMedia({ colorScheme: "light" })
    const beyond = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    )
    if (beyond > 0) complaints.push(`${view}: ${beyond} px beyond the edge`)
  }
}
