import { join } from "node:path"
import { after, test } from "node:test"
import { fromJsonSchema, inputRequired, McpServer } from "@modelcontextprotocol/server"
import { startMcpServer } from "../support/mcp-server.ts"
import { nodeSays, says, tab, write } from "./actions.ts"
import { openPlayground, screenshots } from "./open-playground.ts"

const playground = await openPlayground()

const server = await startMcpServer(() => {
  const mcp = new McpServer({ name: "shop", version: "1.0.0" }, { capabilities: { tools: {} } })
  const inputSchema = fromJsonSchema<Record<string, unknown>>({ type: "object", properties: {} })
  mcp.registerTool("order", { inputSchema }, (_args, { mcpReq }) => {
    if (mcpReq.inputResponses !== undefined) {
      return { content: [{ type: "text", text: JSON.stringify(mcpReq.inputResponses) }] }
    }
    const requestedSchema = {
      type: "object" as const,
      properties: {
        name: { type: "string" as const, description: "Who it is for" },
        copies: { type: "integer" as const, default: 2 },
      },
      required: ["name"],
    }
    const who = inputRequired.elicit({ message: "Who is the order for?", requestedSchema })
    const pay = inputRequired.elicitUrl({ message: "Pay for it", url: "https://pay.example.com/cart/7?token=abc" })
    return inputRequired({ inputRequests: { who, pay } })
  })
  return mcp
})
after(() => server.close())

const source = `mcp shop {
    endpoint: "${server.url}"
    elicitation: ask
}

tool order from mcp.shop.tool.order

dynamic {
    done: call tool.order
}

output {
    done: dynamic.done
}
`

test("what a server asks is a card with its form; an address is shown whole, and its host by itself", async () => {
  const { page, close } = await playground.visit()
  await write(page, source)
  await page.getByRole("button", { name: "Run", exact: true }).click()
  const who = page.locator(".question", { hasText: "Who is the order for?" })
  const pay = page.locator(".question", { hasText: "Pay for it" })
  await says(
    pay,
    /question of mcp\.shop in tool\.order.*Host.*pay\.example\.com.*https:\/\/pay\.example\.com\/cart\/7\?token=abc/s,
  )
  await nodeSays(page, "dynamic.done", /asking/)
  await page.screenshot({ path: join(screenshots, "elicitation.png") })
  await who.getByLabel("Who it is for").fill("Ada")
  await who.getByRole("button", { name: "Accept" }).click()
  await pay.getByRole("button", { name: "Decline" }).click()
  await says(page.locator(".question", { hasText: "Pay for it" }), /answered/)
  await tab(page, "Output")
  await says(page.locator("main"), /who:.*action: accept.*pay:.*action: decline/s)
  await close()
})
