import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { TokenUsage } from "../../log/events.ts"
import { tokenCount } from "../model-turn/token-count.ts"
import {
  ownText,
  type Attachment,
  type Hosted,
  type Reasoning,
  type SaidText,
  type SentCall,
  type Turn,
} from "./conversation.ts"
import type { Conversation } from "./talk.ts"
import type { HostedUse } from "../../ports/model.ts"
import { countedUses, hostedUse, textsIn, typeOf, withoutDate } from "./hosted-uses.ts"
import { callPart, type Part, type Result } from "./result.ts"
import { UnsentFile } from "./unsent-file.ts"
import { markOption } from "./prompt-cache.ts"
import { cutAtSeam } from "./stable-seam.ts"

// The bodies of `/messages`: requests and whole answers.

/** The tool that carries the output where it is asked for by a forced tool call. */
export const answerTool = "give_answer"

/** `answer`: the schema of the output, where the model has to give it by a tool call. */
export function writeAnthropic(
  { model, system, turns, tools: offered, hosted }: Conversation,
  answer: JsonObject | null,
  mark?: JsonValue,
): JsonObject {
  const tools =
    answer === null ? offered : [...offered, { name: answerTool, description: "Gives the answer.", parameters: answer }]
  const messages: { role: string; content: JsonObject[] }[] = []
  for (const turn of turns) {
    const role = turn.role === "assistant" ? "assistant" : "user"
    const last = messages.at(-1)
    // Two messages of one side in a row are refused.
    if (last?.role === role) last.content.push(...blocksOf(turn))
    else messages.push({ role, content: blocksOf(turn) })
  }
  const container = hosted.length === 0 ? undefined : containerOf(turns)
  const ending = messages.at(-1)
  const text = ending?.role === "assistant" ? ending.content.at(-1) : undefined
  // An answer that was begun for the model may not end with a blank.
  if (typeof text?.["text"] === "string") text["text"] = text["text"].trim()
  const body = {
    model,
    ...(tools.length + hosted.length > 0 && {
      tools: [
        ...tools.map(({ name, description, parameters }): JsonObject => {
          return { name, description, input_schema: parameters }
        }),
        ...hosted.map((entry): JsonObject => ({ ...entry, name: entry["name"] ?? withoutDate(typeOf(entry)) })),
      ],
    }),
    ...(system !== null && { system: [{ type: "text", text: system }] }),
    messages,
    ...(container !== undefined && { container }),
    ...(answer !== null && { tool_choice: { type: "tool", name: answerTool } }),
  }
  if (mark !== undefined) markBlocks(body, mark)
  return body
}

/** Where the provider's own code has run so far: the next turn goes on there. It is kept among the parts of the message that it came with. */
function containerOf(turns: readonly Turn[]): string | undefined {
  const parts = turns.flatMap((turn) => (turn.role === "assistant" ? turn.parts : []))
  const last = parts.findLast((part) => part.type === "hosted" && part.block["type"] === containerType)
  return last?.type === "hosted" && typeof last.block["id"] === "string" ? last.block["id"] : undefined
}

const containerType = "container"

interface MarkedBody {
  readonly tools?: readonly JsonObject[]
  readonly system?: JsonObject[]
  readonly messages: readonly { readonly content: JsonObject[] }[]
}

/** Marks the last block of what stays the same, and that of a conversation in which tools were used. */
function markBlocks({ tools = [], system = [], messages }: MarkedBody, mark: JsonValue): void {
  const all = messages.map(({ content }) => content)
  markStable([system, ...all], tools.at(-1), mark)
  const isLoop = all.flat().some(({ type }) => type === "tool_result")
  const last = all.at(-1)?.findLast(takesMark)
  if (isLoop && last !== undefined) last[markOption] = mark
}

function markStable(lists: readonly JsonObject[][], tool: JsonObject | undefined, mark: JsonValue): void {
  let before = tool
  for (const blocks of lists) {
    for (const [at, block] of blocks.entries()) {
      const { text, content } = block
      const cut = cutAtSeam(typeof text === "string" ? text : typeof content === "string" ? content : "")
      if (cut !== null) {
        // Blocks of nothing but blanks are refused.
        const isWhole = cut.tail === ""
        const target = cut.isEmpty || (!isWhole && cut.tail.trim() === "") ? before : block
        if (target === block && !isWhole)
          blocks.splice(at, 1, { ...block, text: cut.head }, { ...block, text: cut.tail })
        const marked = target === block ? blocks[at] : target
        if (marked !== undefined) marked[markOption] = mark
        return
      }
      if (takesMark(block)) before = block
    }
  }
}

function takesMark({ type }: JsonObject): boolean {
  return type !== "thinking" && type !== "redacted_thinking"
}

function blocksOf(turn: Turn): JsonObject[] {
  switch (turn.role) {
    case "user":
      return turn.parts.map(userBlock)
    case "tool":
      return turn.results.map(({ id, output }) => ({ type: "tool_result", tool_use_id: id, content: output }))
    case "assistant":
      return turn.parts.flatMap(assistantBlock)
  }
}

function assistantBlock(part: SaidText | Reasoning | Hosted | SentCall): JsonObject[] {
  switch (part.type) {
    case "text": {
      // With its citations, which only the API understands.
      const own = part.own?.["anthropic"]
      const blocks = isJsonObject(own) && Array.isArray(own["blocks"]) ? own["blocks"].filter(isJsonObject) : []
      return blocks.length > 0 ? blocks.map((block) => ({ ...block })) : [{ type: "text", text: part.text }]
    }
    case "hosted":
      return part.block["type"] === containerType ? [] : [{ ...part.block }]
    case "call":
      return [{ type: "tool_use", id: part.id, name: part.name, input: part.arguments }]
    case "reasoning": {
      // Without either it is not taken back.
      const signature = ownText(part, "anthropic", "signature")
      if (signature !== null) return [{ type: "thinking", thinking: part.text, signature }]
      const data = ownText(part, "anthropic", "redactedData")
      return data === null ? [] : [{ type: "redacted_thinking", data }]
    }
  }
}

function userBlock(part: SaidText | Attachment): JsonObject {
  if (part.type === "text") return { type: "text", text: part.text }
  const { media_type, content, name, context, citations } = part
  const source: JsonObject =
    "url" in content
      ? { type: "url", url: content.url }
      : "text" in content
        ? { type: "text", media_type: "text/plain", data: content.text }
        : { type: "base64", media_type, data: content.base64 }
  if (media_type.startsWith("image/")) return { type: "image", source }
  if (media_type !== "application/pdf" && media_type !== "text/plain")
    throw new UnsentFile(media_type, "url" in content)
  return {
    type: "document",
    source,
    ...(name !== null && { title: name }),
    ...(context !== undefined && { context }),
    ...(citations === true && { citations: { enabled: true } }),
  }
}

export function readAnthropic(body: JsonObject): Result | null {
  const { content, stop_reason, container } = body
  if (!Array.isArray(content)) return null
  const said = content.flatMap((block, at): Part[] => (isJsonObject(block) ? partsOf(block, at) : []))
  if (said.length > 0 && isJsonObject(container) && typeof container["id"] === "string")
    said.push({ type: "hosted", block: { type: containerType, id: container["id"] } })
  const answer = said.find((part) => part.type === "call" && part.call.name === answerTool)
  const parts = answer?.type === "call" ? withAnswer(said, answer.call.arguments) : said
  const reason = typeof stop_reason === "string" ? stop_reason : ""
  const end =
    reason === "refusal"
      ? "blocked"
      : reason === "max_tokens" || reason === "model_context_window_exceeded"
        ? "length"
        : null
  const blocks = content.filter(isJsonObject)
  const uses = usesIn(blocks)
  const isPaused = reason === "pause_turn"
  return { parts: joined(parts), end, reason, usage: readUsage(body["usage"], uses), uses, isPaused }
}

/** A text that is cut at its citations is one text. */
function joined(parts: readonly Part[]): Part[] {
  const all: Part[] = []
  for (const part of parts) {
    const last = all.at(-1)
    const [before, own] = [citedBlocks(last), citedBlocks(part)]
    if (last?.type === "text" && part.type === "text" && (isCited(before) || isCited(own))) {
      all[all.length - 1] = {
        ...part,
        text: last.text + part.text,
        own: { anthropic: { blocks: [...before, ...own] } },
      }
    } else all.push(part)
  }
  return all.map((part) => (part.type === "text" && !isCited(citedBlocks(part)) ? { ...part, own: null } : part))
}

function citedBlocks(part: Part | undefined): readonly JsonValue[] {
  const own = part?.type === "text" ? part.own?.["anthropic"] : undefined
  return isJsonObject(own) && Array.isArray(own["blocks"]) ? own["blocks"] : []
}

function isCited(blocks: readonly JsonValue[]): boolean {
  return blocks.some(
    (block) => isJsonObject(block) && Array.isArray(block["citations"]) && block["citations"].length > 0,
  )
}

function usesIn(blocks: readonly JsonObject[]): HostedUse[] {
  const results = new Map(blocks.map((block) => [block["tool_use_id"], block["content"]]))
  return blocks.flatMap(({ type, id, name, input }) => {
    if (type !== "server_tool_use" || typeof name !== "string") return []
    const { query, url, command, code, path } = isJsonObject(input) ? input : {}
    const found = results.get(id)
    const told = isJsonObject(found) ? [found["url"], found["stdout"], found["error_code"]] : textsIn(found, "url")
    const kind = name.endsWith("code_execution") ? "code_execution" : name
    return [hostedUse(kind, [query, url, command, code, path, ...told])]
  })
}

/** The answer is what the model gave to the tool for it, and not what it said beside. */
function withAnswer(said: readonly Part[], text: string): Part[] {
  const others = said.filter((part) => part.type !== "text" && !(part.type === "call" && part.call.name === answerTool))
  return [...others, { type: "text", text, own: null }]
}

function partsOf(block: JsonObject, at: number): Part[] {
  const { type, text, thinking, signature, data, id, name, input } = block
  switch (type) {
    case "text":
      return typeof text === "string" ? [{ type: "text", text, own: { anthropic: { blocks: [block] } } }] : []
    case "thinking":
      return [
        {
          type: "reasoning",
          text: typeof thinking === "string" ? thinking : "",
          own: typeof signature === "string" ? { anthropic: { signature } } : null,
        },
      ]
    case "redacted_thinking":
      return typeof data === "string"
        ? [{ type: "reasoning", text: "", own: { anthropic: { redactedData: data } } }]
        : []
    case "tool_use":
      return [callPart({ id, name, input }, at, null)]
    default:
      return type === "server_tool_use" || (typeof type === "string" && type.endsWith("_tool_result"))
        ? [{ type: "hosted", block }]
        : []
  }
}

function readUsage(usage: JsonValue | undefined, uses: readonly HostedUse[]): TokenUsage | null {
  if (!isJsonObject(usage)) return null
  const { output_tokens_details: details, server_tool_use: served } = usage
  const { web_search_requests, web_fetch_requests } = isJsonObject(served) ? served : {}
  const cached = tokenCount(usage["cache_read_input_tokens"])
  const written = tokenCount(usage["cache_creation_input_tokens"])
  return {
    // What came from the cache, or went into it, is not counted as input by this API.
    input_tokens: tokenCount(usage["input_tokens"]) + cached + written,
    output_tokens: tokenCount(usage["output_tokens"]),
    cached_tokens: cached,
    written_tokens: written,
    reasoning_tokens: tokenCount(isJsonObject(details) ? details["thinking_tokens"] : 0),
    ...countedUses(uses, { web_search: web_search_requests, web_fetch: web_fetch_requests }),
  }
}
