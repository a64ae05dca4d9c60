import type { Command } from "commander"
import { addInspect } from "./mcp-inspect.ts"
import { addMcpDocs } from "./mcp-docs.ts"
import { addMcpServe } from "./mcp-serve.ts"

export function mcpCommand(mcp: Command): void {
  mcp.description("Lists what MCP servers offer to workflows, and serves workflows as MCP tools.")
  addInspect(mcp)
  addMcpServe(mcp)
  addMcpDocs(mcp)
}
