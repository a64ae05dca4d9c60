import type { Command } from "commander"
import { addInspect } from "./mcp-inspect.ts"

export function addMcp(program: Command): void {
  const mcp = program
    .command("mcp")
    .summary("look at MCP servers")
    .description("Looks at what MCP servers offer to workflows.")
  addInspect(mcp)
}
