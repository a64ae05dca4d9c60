import { startsPattern } from "./declaration-start.ts"
import { parseBlock, parseName, skipToBrace, type Start } from "./head-parser.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Declaration, Loop, StepDeclaration } from "./tree.ts"
import { parseLoop } from "./loop-parser.ts"
import { parseExpression, parseProperties } from "./value-parser.ts"
import { parseWhen } from "./when-parser.ts"

/** Step = ("agent" | "ask" | "wait") name ("for" pattern "in" expression)? ("when" expression)? properties */
export function parseStep(start: Start, kind: StepDeclaration["kind"]): Declaration | undefined {
  const { reader, keyword, doc } = start
  const name = parseName(start)
  if (!startsHead(reader)) {
    reader.expected(`\`{\` after ${showHead(start)}`, undefined, "{")
    while (!startsHead(reader) && !reader.is("end") && !reader.token.afterBreak) reader.skipBalanced()
  }
  let isLooped = startsLoop(reader)
  let loop = isLooped ? parseHeadLoop(start) : undefined
  const when = parseWhen(reader, parseExpression)
  // A broken condition ends at the body of the step.
  if (when?.condition.kind === "missing-expression") skipToBrace(reader)
  if (when !== undefined && !isLooped && reader.isWord("for")) {
    reader.report(reader.token, "`for` comes before `when`", `Write \`${kind} name for item in list when condition\`.`)
    isLooped = true
    loop = parseHeadLoop(start)
  }
  const after = when !== undefined ? "the condition" : loop === undefined ? undefined : "the loop's list"
  const body = parseBlock(start, (reader) => parseProperties(reader, kind), after)
  if (name === undefined || body === undefined) return undefined
  const brokenLoop = isLooped && loop === undefined
  return { kind, keyword, doc, name, loop, brokenLoop, when, body, start: keyword.start, end: body.end }
}

/** Score = "score" name ("when" expression)? properties */
export function parseScore(start: Start): Declaration | undefined {
  const { reader, keyword, doc } = start
  const name = parseName(start)
  if (!reader.isWord("when") && !reader.isWord("if") && !reader.is("{")) {
    reader.expected(`\`{\` after ${showHead(start)}`, undefined, "{")
    while (!startsHead(reader) && !reader.is("end") && !reader.token.afterBreak) reader.skipBalanced()
  }
  const when = parseWhen(reader, parseExpression)
  if (when?.condition.kind === "missing-expression") skipToBrace(reader)
  const body = parseBlock(
    start,
    (reader) => parseProperties(reader, "score"),
    when === undefined ? undefined : "the condition",
  )
  if (name === undefined || body === undefined) return undefined
  return { kind: "score", keyword, doc, name, when, body, start: keyword.start, end: body.end }
}

/** What was read so far, for a message: `agent writer`. */
function showHead({ path }: Start): string {
  return `\`${path.replace(".", " ")}\``
}

function startsHead(reader: TokenReader): boolean {
  return startsLoop(reader) || reader.isWord("when") || reader.isWord("if") || reader.is("{")
}

function startsLoop(reader: TokenReader): boolean {
  return reader.isWord("for") || startsPattern(reader, 0) || (reader.is("name") && startsPattern(reader, 1))
}

/** A broken loop ends at the step's body, so that what is in it is still read. */
function parseHeadLoop(start: Start): Loop | undefined {
  const { reader } = start
  if (!reader.isWord("for")) reader.expected(`\`for\` after ${showHead(start)}`)
  return parseLoop(reader, parseExpression, skipToBrace)
}
