import type { Locator, Page } from "playwright-core"
import { copied } from "./actions.ts"

/** Its key goes to the demo model, which asks for none. */
export const secretive = `input {
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
export const secret = "sk-do-not-tell-0123456789"

export async function fillSecrets(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: /^api_key/ }).fill(secret)
  await page.getByRole("textbox", { name: /^limits/ }).fill('{ "most": 3 }')
}

/** The event of a paste: what the browser itself does with one is not made. */
export async function paste(field: Locator, text: string): Promise<void> {
  await field.evaluate((element, pasted) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData("text/plain", pasted)
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }))
  }, text)
}

/** The link to the workflow that Share copies: that of a shown run stands before it. */
export async function share(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Share" }).click()
  return copied(page, page.getByRole("button", { name: "Copy link" }).last(), "Link copied.")
}
