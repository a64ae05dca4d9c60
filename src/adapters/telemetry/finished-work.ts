import type { Attributes } from "@opentelemetry/api"
import type { LogEvent } from "../../log/events.ts"
import type { TraceNames } from "./trace-names.ts"

/** Work that the log mentions once, when it is done. */
export interface FinishedWork {
  readonly name: string
  readonly duration_ms: number
  readonly attributes: Attributes
}

/** The work that an event says is done; null for all other events. Names are those of the MCP conventions. */
export function finishedWork(event: LogEvent, names: TraceNames): FinishedWork | null {
  switch (event.type) {
    case "context_compacted": {
      const { source, duration_ms, usage } = event.data
      const attributes: Attributes = {
        [names.operation]: "compact",
        [names.inputTokens]: usage.input_tokens,
        [names.outputTokens]: usage.output_tokens,
        ...(usage.cost !== null && { "wireworks.usage.cost": usage.cost }),
      }
      return { name: `compact ${source}`, duration_ms, attributes }
    }
    case "mcp_server_connected": {
      const { server, protocol, duration_ms } = event.data
      const attributes = { "wireworks.server": server, [names.mcpProtocol]: protocol }
      return { name: `connect ${server}`, duration_ms, attributes }
    }
    case "resource_read":
      return ofServer("resources/read", event.data)
    case "prompt_rendered":
      return ofServer("prompts/get", event.data)
    default:
      return null
  }
}

function ofServer(
  method: string,
  { name, server, duration_ms }: { readonly name: string; readonly server: string; readonly duration_ms: number },
): FinishedWork {
  const attributes = { "mcp.method.name": method, "wireworks.server": server }
  return { name: `${method} ${name}`, duration_ms, attributes }
}
