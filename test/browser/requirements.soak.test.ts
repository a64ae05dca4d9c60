import { join } from "node:path"
import { describe, test } from "node:test"
import { node, run, says, status, write } from "./actions.ts"
import { openPlayground, screenshots } from "./open-playground.ts"

const playground = await openPlayground()

const posting = `provider demo from openai {
    endpoint: "demo"
}

model small from demo {
    id: "demo"
}

agent post {
    model: model.small
    instruction: "Announce the release."

    output {
        text: string
        score: integer
    }

    require result.text == "Nothing else" else "The text is Nothing else, not {{ result.text }}."
    require result.score < -1
}

output {
    text: agent.post.text
}
`

const asking = `ask review {
    question: "Publish?"

    output {
        publish: boolean
        note: maybe string
    }

    require result.publish else "Publish it."
    require result.note != null else "Say why."
}

output {
    answer: ask.review
}
`

describe("requirements", () => {
  test("an output that was sent back shows which requirements it does not fulfil", async () => {
    const { page, close } = await playground.visit()
    await write(page, posting)
    await run(page)
    await status(page, /failed after/)
    await node(page, "agent.post").click()
    const back = page.getByRole("button", { name: /does not fulfil its requirements/ }).first()
    await back.click()
    await page.getByRole("heading", { name: "Requirements not fulfilled" }).waitFor()
    const rejections = page.locator(".rejections")
    await says(rejections, /require result\.text == "Nothing else"/)
    await says(rejections, /The text is Nothing else, not /)
    await says(rejections, /Required: result\.score < -1/)
    await page.screenshot({ path: join(screenshots, "requirements.png") })
    await close()
  })

  test("an answer that does not fulfil them leaves the question open, with their texts at the form", async () => {
    const { page, close } = await playground.visit({ expected: /422/ })
    await write(page, asking)
    await run(page)
    const card = page.locator("article.question")
    await card.getByRole("radio", { name: "No" }).check()
    await card.getByRole("button", { name: "Answer" }).click()
    await says(card.getByRole("alert"), /Publish it\./)
    await says(card.getByRole("alert"), /Say why\./)
    await page.screenshot({ path: join(screenshots, "requirements-of-a-question.png") })
    await close()
  })
})
