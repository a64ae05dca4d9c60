import type { Reach } from "../../../src/trust/reach-shape.ts"
import type { Ran } from "./run-program.ts"
import { holds } from "./world.ts"

/** What a run did that the reach of its workflow does not have: the reach is an upper bound. */
export function beyondReach(reach: Reach, { seen }: Ran): string[] {
  const beyond = new Set<string>()
  const backends = new Map(reach.hosts.map((one) => [nameOf(one.backend), one]))
  const tools = new Set(reach.tools.map(({ tool }) => nameOf(tool)))
  let modelCalls = 0
  let toolCalls = 0
  for (const { who, what } of seen) {
    const [kind, name = "", provider = ""] = who.split(" ")
    const isPrivate = holds("private", what)
    if (kind === "model") {
      modelCalls++
      const host = backends.get(provider)
      if (host === undefined) beyond.add(`provider ${provider} is called`)
      else if (isPrivate && !host.private) beyond.add(`provider ${provider} gets private data`)
    }
    if (kind === "server" && !backends.has(name)) beyond.add(`server ${name} is connected to`)
    if (kind === "tool" || kind === "resource") toolCalls++
    if (kind === "tool" && !tools.has(name)) beyond.add(`tool ${name} is called`)
  }
  const { model_calls, tool_calls } = reach.most
  if (model_calls.most !== "unbounded" && modelCalls > model_calls.most) beyond.add(`${modelCalls} model calls`)
  if (tool_calls.most !== "unbounded" && toolCalls > tool_calls.most) beyond.add(`${toolCalls} tool calls`)
  return [...beyond]
}

/** `t1` of `f0.wire#tool.t1` and of `mcp.lib.wire#s0` */
function nameOf(name: string): string {
  return /[a-z]\d+(?=(?:\(\d+\))?$)/.exec(name)?.[0] ?? name
}
