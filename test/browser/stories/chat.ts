import assert from "node:assert/strict"
import { test } from "node:test"
import { hasCount, says, tab, write } from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"
import { soakTest } from "../../support/strength.ts"

const models = `provider llm from openai {
    endpoint: "demo"
}

model demo from llm {
    id: "demo"
}
`

const source = `input {
    question: string
    history: [{ role: enum { user, assistant }, text: string }]
}

${models}
agent answer {
    model: model.demo
    instruction: "Answer {{ input.question }} after {{ input.history }}"

    output {
        text: string
    }
}

chat {
    message: input.question
    history: input.history
    reply: output.text
}

output {
    text: agent.answer.text
}
`

export function chat(playground: Playground): void {
  test("a workflow with a chat block is talked to, and each reply leads to its run", async () => {
    const { page, close } = await playground.visit()
    await write(page, source)
    await tab(page, "Chat")
    const message = page.getByRole("textbox", { name: "Message" })
    for (const text of ["Where is my order?", "And the other?"]) {
      await message.fill(text)
      await message.press("Enter")
      await page.locator(".message.user", { hasText: text }).waitFor()
      await says(page.locator(".message.assistant .reply").last(), /\w{2}/)
      await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "hidden" })
    }
    await hasCount(page.locator(".message.assistant"), 2)
    const complaints: string[] = []
    await lookAt(page, complaints)("chat")
    assert.deepEqual(complaints, [])
    // The next message is no change of the last one.
    await hasCount(page.locator(".node.would-run"), 0)
    await hasCount(page.getByRole("button", { name: /changed step/ }), 0)
    await page.getByRole("button", { name: "Show the run" }).last().click()
    await page.getByRole("treeitem", { name: /^agent\.answer/ }).waitFor()
    await close()
  })

  soakTest("a chat of several files sends all of them", async () => {
    const { page, close } = await playground.visit()
    await write(page, source)
    await page.keyboard.press("Control+k")
    await page.getByRole("combobox", { name: "Find a command" }).fill("add a file")
    await page.keyboard.press("Enter")
    await page.getByLabel("Path").fill("models.wire")
    await page.keyboard.press("Enter")
    await page.getByRole("tab", { name: "models.wire", selected: true }).waitFor()
    await write(page, models)
    await page.getByRole("tab", { name: "main.wire" }).click()
    await write(page, `import { model.demo } from "./models.wire"\n\n${source.replace(models, "")}`)
    await page.getByText("No problems").waitFor()
    await tab(page, "Chat")
    const message = page.getByRole("textbox", { name: "Message" })
    await message.fill("Where is my order?")
    await message.press("Enter")
    await says(page.locator(".message.assistant .reply").last(), /\w{2}/)
    await close()
  })
}
