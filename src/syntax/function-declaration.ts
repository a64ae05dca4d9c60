import { closeBracket, endsBracket } from "./close-bracket.ts"
import { startsDeclaration } from "./declaration-start.ts"
import { valueIsAbsent } from "./field-colon.ts"
import { parseFilePath } from "./file-parser.ts"
import { parseName, type Start } from "./head-parser.ts"
import { parseWordKey } from "./key-parser.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Expression, FunctionDeclaration, Parameter, StringNode, TypeNode } from "./tree.ts"
import { parseType } from "./type-parser.ts"
import { parseExpression } from "./value-parser.ts"

/** Function = "function" name "(" (name ":" type ","?)* ")" (":" type)? ("=" expression | "from" string) */
export function parseFunctionDeclaration(start: Start): FunctionDeclaration | undefined {
  const { reader, keyword, doc } = start
  const { count } = reader.mistakes
  const name = parseName(start)
  if (name === undefined) return undefined
  const form = `Write \`function ${reader.show(name)}(amount: number) = amount * 2\`.`
  if (!reader.is("(")) {
    reader.expected(`\`(\` and the parameters after \`function ${reader.show(name)}\``, form)
    return undefined
  }
  const parameters = parseParameters(reader)
  // After a mistake, what follows would only make more of them.
  const isRight = (): boolean => reader.mistakes.count === count
  const result = isRight() && reader.accept(":") !== undefined ? parseTypeThere(reader) : undefined
  const file = isRight() && reader.acceptWord("from") !== undefined ? parseCodePath(reader, result) : undefined
  const value = isRight() && file === undefined ? parseDefinition(reader, form) : missing(reader)
  if (!isRight()) while (!reader.is("end") && !startsDeclaration(reader)) reader.skipBalanced()
  start.hasBlock = true
  const span = { start: keyword.start, end: Math.max(value.end, result?.end ?? name.end) }
  return { kind: "function-declaration", keyword, doc, name, parameters, result, value, file, body: undefined, ...span }
}

function parseParameters(reader: TokenReader): Parameter[] {
  const open = reader.token
  const parameters: Parameter[] = []
  reader.bracketed(() => {
    while (!reader.is(")") && !reader.is("]") && !endsBracket(reader.token)) {
      const parameter = parseParameter(reader)
      if (parameter === undefined) break
      parameters.push(parameter)
      if (reader.accept(",") === undefined) break
    }
  })
  closeBracket(reader, open, ")", "`,` or `)` after a parameter")
  return parameters
}

/** Parameter = name ":" type */
function parseParameter(reader: TokenReader): Parameter | undefined {
  if (!reader.is("name")) {
    reader.expected("the name of a parameter", "A parameter has a name and a type: `amount: number`.")
    return undefined
  }
  const name = parseWordKey(reader)
  if (reader.accept(":") === undefined) {
    const written = reader.show(name)
    const hint = `Write \`${written}: string\`, or another type.`
    reader.expected(`\`:\` and a type after the parameter \`${written}\``, hint)
    return { kind: "parameter", name, type: missingType(reader), start: name.start, end: name.end }
  }
  const type = parseTypeThere(reader)
  return { kind: "parameter", name, type, start: name.start, end: Math.max(name.end, type.end) }
}

function parseTypeThere(reader: TokenReader): TypeNode {
  return valueIsAbsent(reader, "a type") ? missingType(reader) : parseType(reader)
}

/** The path of a code file. What it gives is known from the declaration alone. */
function parseCodePath(reader: TokenReader, result: TypeNode | undefined): StringNode | undefined {
  const file = parseFilePath(reader)
  if (file === undefined || result !== undefined) return file
  const hint = 'A function of a code file says what it gives: `function rank(text: string): number from "./rank.js"`.'
  reader.report(file, "Expected `:` and the type of the result before `from`", hint)
  return file
}

/** "=" expression */
function parseDefinition(reader: TokenReader, form: string): Expression {
  if (!reader.is("bad") || reader.textOf(reader.token) !== "=") {
    reader.expected(
      "`=` and an expression, or `from` and a code file, after the parameters",
      `A function is one expression. ${form}`,
    )
    return missing(reader)
  }
  const sign = reader.take()
  if (reader.token.afterBreak && startsDeclaration(reader)) {
    reader.report(sign, "Expected an expression after `=`")
    return missing(reader)
  }
  return valueIsAbsent(reader, "an expression") ? missing(reader) : parseExpression(reader)
}

function missing(reader: TokenReader): Expression {
  return { kind: "missing-expression", start: reader.previous.end, end: reader.previous.end }
}

function missingType(reader: TokenReader): TypeNode {
  return { kind: "missing-type", start: reader.previous.end, end: reader.previous.end }
}
