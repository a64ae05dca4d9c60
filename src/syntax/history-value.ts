import type { Span } from "../source/span.ts"
import { missing, parseReference } from "./chain-parser.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Expression } from "./tree.ts"

// `context agent.a` and `compact agent.a { … }` as values, with or without parentheses. Elsewhere they give the messages of
// an agent; here only an agent continues them.

/** Whether the reader is at one of them. A field cannot be called `agent.a`, so that no other value is meant. */
export function startsHistory(reader: TokenReader): boolean {
  const [next, dot] = [reader.peek(), reader.peek(2)]
  return next.kind === "name" && reader.isWord("agent", next) && dot.kind === "." && !next.afterBreak
}

/** `compact agent.a { … }`: explained, and read over. */
export function refuseHistory(reader: TokenReader, word: Token): Expression {
  reader.take()
  parseReference(reader)
  if (reader.is("{") && !reader.token.afterBreak) reader.skipBalanced()
  return report(reader, word)
}

/** `compact(agent.a, …)` */
export function refuseCalledHistory(reader: TokenReader): Expression {
  const word = reader.take()
  reader.skipBalanced()
  return report(reader, word)
}

function report(reader: TokenReader, { start, end }: Span): Expression {
  const word = reader.textOf({ start, end })
  const [agent = "agent.name"] = /\bagent\.\w+/.exec(reader.textOf({ start: end, end: reader.previous.end })) ?? []
  const isWhole = word === "context"
  const what = isWhole ? "the messages of an agent" : "a summary of an agent's messages"
  const meant = isWhole ? agent : `compact ${agent}`
  reader.report(
    { start, end: reader.previous.end },
    `\`${word} ${agent}\` would give ${what}, which is not a value here`,
    `Write \`context: ${meant}\` in the agent that continues them, or a dynamic value with the texts: \`"{{ ${agent} }}"\`.`,
  )
  return missing(reader)
}
