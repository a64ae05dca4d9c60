// Every name of the GenAI conventions that this service exports, in both vocabularies: v1.41.0, which most backends read, and that of the
// conventions' own repository.

/** Names that both have. */
const shared = {
  operation: "gen_ai.operation.name",
  workflow: "gen_ai.workflow.name",
  agent: "gen_ai.agent.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseId: "gen_ai.response.id",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  conversation: "gen_ai.conversation.id",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheRead: "gen_ai.usage.cache_read.input_tokens",
  system: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  tool: "gen_ai.tool.name",
  callId: "gen_ai.tool.call.id",
  arguments: "gen_ai.tool.call.arguments",
  result: "gen_ai.tool.call.result",
  mcpMethod: "mcp.method.name",
  mcpProtocol: "mcp.protocol.version",
  server: "server.address",
  port: "server.port",
  error: "error.type",
} as const

const stable = {
  ...shared,
  cacheWritten: "gen_ai.usage.cache_creation.input_tokens",
  /** An output message says why it ended. */
  saysFinish: true,
} as const

const latest = {
  ...shared,
  cacheWritten: "gen_ai.usage.cache_write.input_tokens",
  saysFinish: false,
} as const

export type TraceNames = typeof stable | typeof latest

/** The vocabulary that `OTEL_SEMCONV_STABILITY_OPT_IN` asks for. */
export function traceNames(environment: Readonly<Record<string, string | undefined>>): TraceNames {
  const asked = (environment["OTEL_SEMCONV_STABILITY_OPT_IN"] ?? "").split(",").map((one) => one.trim())
  return asked.includes("gen_ai_latest_experimental") ? latest : stable
}
