import type { Locator, Page } from "playwright-core"
import { run, tab, write } from "./actions.ts"

/** One question and one approval, both open at once. */
export const source = `mcp library {
    endpoint: "demo"
}

tool reserve from mcp.library.tool.reserve {
    approval {
        to: "librarians"
    }
}

ask review {
    question: "Publish this?\\n\\nThe owl flies at night."
    show: { title: "Owls", tags: ["birds", "night"] }
    to: "editors"

    output {
        publish: boolean
        /// What should be changed?
        note: maybe string
        level: enum { low, high }
        pages: integer
    }
}

dynamic {
    reserved: call tool.reserve {
        input {
            title: "The Owl Papers"
            reader: "Ada"
        }
    }
}

output {
    publish: ask.review.publish
    pages: ask.review.pages
    reserved: dynamic.reserved
}
`

const card = (page: Page, name: string): Locator => page.getByRole("article", { name })
export const review = (page: Page): Locator => card(page, "ask.review")
export const approval = (page: Page): Locator => card(page, "approval of tool.reserve")

/** Refuses to publish: no choice is made beforehand. */
export async function fillReview(page: Page, pages: string): Promise<void> {
  const card = review(page)
  await card.getByRole("radio", { name: "No" }).check()
  await card.getByLabel(/^level/).selectOption("low")
  await card.getByLabel(/^pages/).fill(pages)
}

/** Runs the workflow up to its questions. */
export async function ask(page: Page): Promise<void> {
  await write(page, source)
  await run(page)
  await review(page).waitFor()
  await approval(page).waitFor()
}

/** The output of the run, read from its tab. */
export async function output(page: Page): Promise<unknown> {
  await tab(page, "Output")
  await page.getByRole("button", { name: "Raw" }).click()
  return JSON.parse(await page.getByLabel("Output as JSON").innerText())
}
