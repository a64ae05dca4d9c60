import { parseReference } from "./chain-parser.ts"
import { leavesBlock } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import { skipToBrace } from "./head-parser.ts"
import { parse, type Parsed } from "./parser.ts"
import { parseIndex } from "./loop-parser.ts"
import { parseString } from "./string-parser.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type {
  Block,
  Chain,
  Expression,
  FailureNode,
  FixtureNode,
  Name,
  ObservedNode,
  Property,
  StringNode,
  TestDeclaration,
  TestExpect,
  TestGiven,
  TestInput,
  TestItem,
  TestRows,
  TestsDeclaration,
  ValueField,
} from "./tree.ts"
import { parseColon, valueIsAbsent } from "./field-colon.ts"
import { parseKey } from "./key-parser.ts"
import { assumeBrace } from "./missing-brace.ts"
import { parseExpression, parseValueFields } from "./value-parser.ts"

// The declarations of test files. The checker says where they belong.

/** `parse`, for a file that may hold tests. */
export function parseWithTests(text: string): Parsed {
  return parse(text, parseTestDeclaration)
}

/** "tests" string | "test" string ("for" name "in" string)? "{" item* "}" */
function parseTestDeclaration(reader: TokenReader): TestDeclaration | TestsDeclaration | undefined {
  const doc = docBefore(reader)
  const isTests = reader.isWord("tests")
  const keyword = reader.take()
  const text = parsePlainString(reader, isTests ? "the path of a workflow" : "the test's name")
  const path = isTests ? "tests" : `test ${reader.quote(text)}`
  const declaration: TestDeclaration | TestsDeclaration | undefined = isTests
    ? { kind: "tests", keyword, doc, file: text, body: undefined, start: keyword.start, end: text.end }
    : parseTest(reader, keyword, doc, text)
  reader.mistakes.region({ start: keyword.start, end: reader.previous.end }, path)
  reader.separator()
  return declaration
}

function parseTest(
  reader: TokenReader,
  keyword: Token,
  doc: string | undefined,
  title: StringNode,
): TestDeclaration | undefined {
  const rows = reader.isWord("for") ? parseRows(reader) : undefined
  if (!reader.is("{")) {
    reader.expected("`{` after the test's name", undefined, "{")
    skipToBrace(reader)
  }
  if (!reader.is("{")) assumeBrace(reader)
  const body = reader.block<TestItem>(parseItem, leavesBlock, "`input`, `given`, `expect`, `samples` or `pass_rate`")
  return body && { kind: "test", keyword, doc, title, rows, body, start: keyword.start, end: body.end }
}

/** "for" name ("," name)? "in" string */
function parseRows(reader: TokenReader): TestRows | undefined {
  const first = reader.take()
  const variable = reader.expect("name", "a variable after `for`")
  if (variable === undefined) return undefined
  const name = reader.identifier(variable)
  const index = parseIndex(reader)
  if (reader.acceptWord("in") === undefined) {
    reader.expected(`\`in\` after \`for ${name.text}\``, undefined, "in")
    return undefined
  }
  if (!reader.is("string") && !reader.is("head")) {
    reader.expected("the path of a `.jsonl` or `.json` file after `in`")
    return undefined
  }
  const file = parsePlainString(reader, "the path of a file")
  return { variable: name, index, file, start: first.start, end: file.end }
}

/** A text without interpolations: names of tests and paths are known before anything runs. */
function parsePlainString(reader: TokenReader, what: string): StringNode {
  const node = parseString(reader, parseExpression)
  if (node.interpolations.length > 0) reader.report(node, `Expected ${what} without \`{{ }}\``)
  return node
}

function parseItem(reader: TokenReader): TestItem | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const next = reader.peek()
  if (reader.isWord("input") && (next.kind === "{" || next.kind === ":")) return parseInput(reader)
  if (reader.isWord("given") && next.kind === "name") return parseGiven(reader)
  if (reader.isWord("expect") && next.kind !== ":") return parseExpect(reader)
  const name = parseKey(reader)
  return name && parseSetting(reader, first, name, doc)
}

function parseInput(reader: TokenReader): TestInput | undefined {
  const keyword = reader.take()
  reader.accept(":")
  const body = reader.within({ observe: parseFixture }, () => parseValueFields(reader))
  if (body !== undefined) return { kind: "test-input", keyword, body, start: keyword.start, end: body.end }
  reader.expected("`{` after `input`", undefined, "{")
  return undefined
}

/** "given" reference (":" expression | "fails" name string?) */
function parseGiven(reader: TokenReader): TestGiven {
  const keyword = reader.take()
  const step = parseReference(reader)
  const result = parseResult(reader, step)
  return { kind: "given", keyword, step, result, start: keyword.start, end: reader.endFrom(keyword) }
}

function parseResult(reader: TokenReader, step: Chain): TestGiven["result"] {
  if (reader.acceptWord("fails") !== undefined) {
    if (!reader.is("name") || (reader.token.afterBreak && startsItem(reader))) {
      reader.expected("the kind of an error after `fails`", "Such as `provider_error`.")
      return { kind: "missing" }
    }
    const errorKind = reader.take()
    const message =
      reader.is("string") || reader.is("head") ? parsePlainString(reader, "the message of the error") : undefined
    return { kind: "fails", errorKind: reader.identifier(errorKind), message }
  }
  if (reader.accept(":") === undefined) {
    reader.expected(`\`:\` and a value, or \`fails\`, after \`given ${reader.quote(step)}\``)
    if (reader.token.afterBreak || reader.endsBlock(reader.token)) return { kind: "missing" }
  }
  if (valueIsAbsent(reader, "a value")) return { kind: "missing" }
  return { kind: "value", value: reader.within({ observe: parseResultWord }, () => parseExpression(reader)) }
}

/** Whether the word on another line begins the next item, and is not what the one before it still needs. */
function startsItem(reader: TokenReader): boolean {
  return ["input", "given", "expect"].some((word) => reader.isWord(word)) || reader.peek().kind === ":"
}

/** "expect" ("judge" reference string | expression) */
function parseExpect(reader: TokenReader): TestExpect {
  const keyword = reader.take()
  const isJudge = reader.isWord("judge") && reader.peek().kind === "name" && reader.peek(2).kind === "."
  if (isJudge) reader.take()
  const judge = isJudge ? parseReference(reader) : undefined
  const condition = reader.within({ observe: parseObserved }, () => parseExpected(reader, isJudge))
  return { kind: "expect", keyword, judge, condition, start: keyword.start, end: reader.endFrom(keyword) }
}

function parseExpected(reader: TokenReader, isJudge: boolean): Expression {
  const { end } = reader.previous
  if (isJudge && !reader.is("string") && !reader.is("head")) reader.expected("the criterion as a text")
  else if (!isJudge && opensConditions(reader)) return parseBraces(reader)
  else if (!valueIsAbsent(reader, isJudge ? "the criterion as a text" : "a condition")) return parseExpression(reader)
  return { kind: "missing-expression", start: end, end }
}

/** Whether `{` begins a block of conditions. An object has a colon after its first key. */
function opensConditions(reader: TokenReader): boolean {
  return reader.is("{") && reader.peek().kind !== "}" && ![":", ",", "}"].includes(reader.peek(2).kind)
}

/** `expect { condition }`, with a condition or with several. */
function parseBraces(reader: TokenReader): Expression {
  const open = reader.take()
  const conditions: Expression[] = []
  let before: Token | undefined
  while (!reader.is("}") && !reader.is("end") && reader.token !== before) {
    before = reader.token
    conditions.push(parseExpression(reader))
    reader.accept(",")
  }
  if (reader.accept("}") === undefined) reader.expected("`}`")
  const written = conditions.map((condition) => `\`expect ${reader.quote(condition)}\``).join(" and ")
  const span = { start: open.start, end: reader.previous.end }
  reader.report(span, "An expectation has no braces", `Write ${written}.`)
  return conditions[0] ?? { kind: "missing-expression", start: open.end, end: open.end }
}

/** `samples: 3`, `pass_rate: 0.9` */
function parseSetting(reader: TokenReader, first: Token, name: Name, doc: string | undefined): Property {
  const colon = parseColon(reader, name)
  const isMissing = colon === "missing-value" || valueIsAbsent(reader, "a value")
  const value: Property["value"] = isMissing
    ? { kind: "missing" }
    : { kind: "expression", expression: parseExpression(reader) }
  return {
    kind: "property",
    doc,
    name,
    colon: colon === "missing-value" ? undefined : colon,
    value,
    start: first.start,
    end: reader.endFrom(first),
  }
}

const observedWords = ["ran", "skipped", "asked", "calls", "rejections", "called", "calls_of"] as const

/**
 * ("ran" | "skipped" | "asked" | "calls" | "rejections") reference | "not"? "called" reference ("with" "{" field* "}")? | "calls_of" reference
 * step*, in an `expect` alone
 */
function parseObserved(reader: TokenReader): Expression | undefined {
  const first = reader.token
  const not = reader.isWord("not") && reader.isWord("called", reader.peek()) ? first : undefined
  const [word, kind, dot] =
    not === undefined ? [first, reader.peek(), reader.peek(2)] : [reader.peek(), reader.peek(2), reader.peek(3)]
  const observed = observedWords.find((each) => reader.isWord(each, word))
  if (observed === undefined || kind.kind !== "name" || dot.kind !== ".") return undefined
  if (not !== undefined) reader.take()
  const keyword = reader.take()
  const whole = parseReference(reader)
  const target = observed === "calls_of" ? stepOf(whole) : whole
  const values = observed === "called" && reader.acceptWord("with") !== undefined ? parseArguments(reader) : undefined
  const { start } = first
  const node: ObservedNode = {
    kind: "observed",
    not,
    keyword,
    word: observed,
    target,
    arguments: values,
    start,
    end: values?.end ?? target.end,
  }
  if (target === whole) return node
  return { kind: "chain", base: node, steps: whole.steps.slice(target.steps.length), start, end: whole.end }
}

function parseArguments(reader: TokenReader): Block<ValueField> | undefined {
  const body = parseValueFields(reader)
  if (body === undefined) reader.expected("`{` and arguments after `with`", 'Such as `with { to: "a@b.c" }`.', "{")
  return body
}

/** The part of a chain that names a step: `tool.t` of `tool.t.*.to`, and the path of a step of a called file. */
function stepOf(chain: Chain): Chain {
  const { base, steps, start } = chain
  let count = 1
  let word = base.kind === "name" ? base.text : ""
  while (word === "workflow") {
    const next = steps[count]
    if (next?.kind !== "field") break
    word = next.name.text
    count += 2
  }
  const last = steps[count - 1]
  return last === undefined || steps.length <= count
    ? chain
    : { kind: "chain", base, steps: steps.slice(0, count), start, end: last.end }
}

/** "fail" string, in the list of results that a test gives. */
function parseFailure(reader: TokenReader, keyword: Token): FailureNode | undefined {
  const next = reader.peek()
  if (!reader.isWord("fail") || (next.kind !== "string" && next.kind !== "head")) return undefined
  reader.take()
  const message = parseString(reader, parseExpression)
  return { kind: "fail", keyword, message, start: keyword.start, end: message.end }
}

function parseResultWord(reader: TokenReader, keyword: Token): FailureNode | FixtureNode | undefined {
  return parseFailure(reader, keyword) ?? parseFixture(reader, keyword)
}

/** "file" string, in the values that a test gives. */
function parseFixture(reader: TokenReader, keyword: Token): FixtureNode | undefined {
  const next = reader.peek()
  if (!reader.isWord("file") || (next.kind !== "string" && next.kind !== "head")) return undefined
  reader.take()
  const path = parsePlainString(reader, "the path of a file")
  return { kind: "fixture", keyword, path, start: keyword.start, end: path.end }
}
