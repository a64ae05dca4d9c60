import assert from "node:assert/strict"
import { test } from "node:test"
import { hasAttribute, hasCount, node, runToEnd, says, tab, write } from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"

const source = `input {
    topic: string
}

provider demo from openai {
    endpoint: "demo"
}

model demo from demo {
    id: "demo"
}

agent write {
    model: model.demo
    instruction: "Write a line about {{ input.topic }}, please."

    output {
        text: string
    }
}

agent check {
    model: model.demo
    instruction: "Check this: {{ agent.write.text }}"

    output {
        verdict: string
    }
}

output {
    line: agent.write.text
    verdict: agent.check.verdict
    about: input.topic
}
`

export function tracing(playground: Playground): void {
  test("a person sees where the parts of a prompt, and words of the result, came from", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    const complaints: string[] = []
    const see = lookAt(page, complaints, "trace-")
    await write(page, source)
    await page.getByRole("textbox", { name: "topic" }).fill("copper wires")
    await runToEnd(page)

    // The instruction, part by part.
    await node(page, "agent.write").click()
    const details = page.getByRole("region", { name: "Details" })
    const topic = details.locator(".traced .of-input")
    await says(topic, /^copper wires$/)
    await hasAttribute(topic, "title", "From the input: input.topic")
    const origins = details.getByRole("list", { name: "Where it came from" })
    await says(origins, /line 15[^]*input\.topic/)
    await see("instruction")

    // The request, as it was sent, says the same; a step leads to itself.
    await node(page, "agent.check").click()
    await page
      .getByRole("treeitem", { name: /^model call/ })
      .last()
      .click()
    const sent = details.locator(".sent-request .traced")
    await hasAttribute(sent.locator(".of-step").first(), "title", "From a step: agent.write.text")
    await see("request")
    await node(page, "agent.check").click()
    await details.getByRole("button", { name: "agent.write.text" }).click()
    await hasAttribute(node(page, "agent.write"), "aria-pressed", "true")

    // Words of the result.
    await details.getByRole("button", { name: "Close details" }).click()
    await details.getByRole("button", { name: "Text", exact: true }).click()
    await details.getByText("copper wires", { exact: true }).selectText()
    await details.getByRole("button", { name: "Where does “copper wires” come from?" }).click()
    const answer = page.getByRole("region", { name: "Where it came from" })
    await says(answer, /Result output\.about[^]*Expression main\.wire:\d+:\d+[^]*Input input\.topic/)
    await answer.getByRole("button", { name: "output.line" }).click()
    await says(
      answer,
      /Step agent\.write\.text[^]*Request to the model as it was sent[^]*Input input\.topic[^]*“?copper wires/,
    )
    await page.locator('[data-node="agent.write"].traced-way').waitFor()
    assert.match(page.url(), /origin=output\.line/)
    await see("where-from")
    await answer.getByRole("button", { name: /^Close/ }).click()
    await hasCount(answer, 0)
    // The same in the tab of the output.
    await tab(page, "Output")
    await page.getByRole("region", { name: "Output as text" }).getByText("copper wires", { exact: true }).selectText()
    await page.getByRole("button", { name: "Where does “copper wires” come from?" }).click()
    await answer.waitFor()
    await see("where-from-output")
    assert.deepEqual(complaints, [])
    await close()
  })
}
