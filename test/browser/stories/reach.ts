import assert from "node:assert/strict"
import { test } from "node:test"
import { hasCount, says, tab, write } from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"

const source = `input {
    mail: untrusted string
    customer: private string
    order: string
}

provider llm from openai {
    endpoint: "demo"
    cleared: private
}

model demo from llm {
    id: "demo"
}

mcp library {
    endpoint: "demo"
}

tool reserve from mcp.library.tool.reserve {
    requires: trusted
    cleared: private
}

agent sort {
    model: model.demo
    instruction: "What does this want? {{ input.mail }}"

    output {
        wants: enum { book, nothing }
        words: string
    }
}

agent greet {
    model: model.demo
    instruction: "Greet {{ input.customer }}, who wrote {{ agent.sort.words }}"

    output {
        text: string
    }
}

dynamic {
    reserved: match agent.sort.wants {
        book: call tool.reserve { input { title: input.order, reader: release input.customer because "it is theirs" } }
        nothing: null
    }
}

output {
    text: agent.greet.text
    reserved: dynamic.reserved
}
`

export function reach(playground: Playground): void {
  test("the reach of a workflow is a view, and the graph shows the ways of strangers' words and private data", async () => {
    const { page, close } = await playground.visit()
    await write(page, source)
    await hasCount(page.locator(".way"), 0)
    await tab(page, "Reach")
    await says(page.getByRole("row", { name: /agent\.sort/ }).first(), /quarantined.*input\.mail/)
    await says(page.getByRole("row", { name: /tool\.reserve/ }).first(), /trusted.*dynamic\.reserved.*trust/)
    await says(page.getByRole("row", { name: /release/ }), /it is theirs/)
    // agent.sort → agent.greet, agent.greet → output carries both.
    await hasCount(page.locator(".way.untrusted"), 2)
    await hasCount(page.locator(".way.private"), 1)
    await hasCount(page.locator(".reads .untrusted"), 3)
    const complaints: string[] = []
    await lookAt(page, complaints)("reach")
    assert.deepEqual(complaints, [])
    await page.getByRole("button", { name: "agent.greet" }).click()
    await tab(page, "Timeline")
    await hasCount(page.locator(".way"), 0)
    await close()
  })
}
