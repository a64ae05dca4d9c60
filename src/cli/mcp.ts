import type { Command } from "commander"
import { addInspect } from "./mcp-inspect.ts"
import { addMcpServe } from "./mcp-serve.ts"

export function addMcp(program: Command): void {
  const mcp = program
    .command("mcp")
    .summary("look at MCP servers, and be one")
    .description("Looks at what MCP servers offer to workflows, and offers workflows as tools.")
  addInspect(mcp)
  addMcpServe(mcp)
}
