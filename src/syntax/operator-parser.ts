import { sourceNesting } from "../base/limits.ts"
import { write } from "../source/hint.ts"
import { missing } from "./chain-parser.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Arithmetic, BinaryOperator, Expression } from "./tree.ts"
import { valueIsAbsent } from "./field-colon.ts"

/** `parseDefaults` or `parseExpression` of value-parser.ts, which needs this file. */
type Parse = (reader: TokenReader) => Expression

/** How strongly an operator binds. */
const strengths: Readonly<Record<BinaryOperator, number>> = {
  "||": 1,
  "&&": 2,
  "==": 3,
  "!=": 3,
  "<": 3,
  "<=": 3,
  ">": 3,
  ">=": 3,
  contains: 3,
  in: 3,
  "+": 4,
  "-": 4,
  "*": 5,
  "/": 5,
  "%": 5,
}

const comparison = 3

/** Operations = operand (operator operand)*, from the weakest `||` to `*`; comparisons do not chain */
export function parseOperations(reader: TokenReader, first: Expression, parseOperand: Parse): Expression {
  return operatorAt(reader) === undefined ? first : parseFrom(reader, first, 1, parseOperand)
}

/** All operators that bind at least this strongly, with `left` before them. Each one is a level deeper. */
function parseFrom(reader: TokenReader, left: Expression, least: number, parseOperand: Parse): Expression {
  let levels = 0
  for (;;) {
    const operator = operatorAt(reader)
    if (operator === undefined || strengths[operator] < least || !reader.enter()) break
    levels++
    left = parseBinary(reader, left, operator, parseOperand)
  }
  for (; levels > 0; levels--) reader.leave()
  return left
}

function parseBinary(reader: TokenReader, left: Expression, operator: BinaryOperator, parseOperand: Parse): Expression {
  const { token } = reader
  if (token.kind === "bad" || (token.kind === "name" && operator !== "contains" && operator !== "in")) {
    const text = reader.textOf(token)
    const next = reader.peek().kind
    // In Basic and in sheets it joins texts.
    const joins = text === "&" && /string|head/.test(left.kind + next)
    const meant = text === "or" && /^(?:string|head|number|\[|\{)$/.test(next) ? "??" : operator
    const hint = joins ? 'Texts are joined by interpolation: `"{{ … }}{{ … }}"`.' : write(meant)
    reader.report(token, `\`${text}\` is not an operator`, hint)
  }
  const sign = reader.take()
  refuseForgottenComma(reader, left, sign)
  let right: Expression = missing(reader)
  if (!valueIsAbsent(reader, "a value", true)) {
    right = parseFrom(reader, parseOperand(reader), strengths[operator] + 1, parseOperand)
  }
  if (strengths[operator] === comparison) refuseChain(reader)
  return { kind: "binary", operator, sign, left, right, start: left.start, end: Math.max(sign.end, right.end) }
}

/** `[a -b]`: a difference, or two elements? */
function refuseForgottenComma(reader: TokenReader, left: Expression, sign: Token): void {
  if (sign.kind !== "-" || !reader.context.inElements || left.end === sign.start || reader.token.start !== sign.end)
    return
  const hint = "Write `a - b`, or a comma between the two."
  reader.report(sign, "This may be a difference or two elements", hint)
}

/** `a < b < c` */
function refuseChain(reader: TokenReader): void {
  const next = operatorAt(reader)
  if (next === undefined || strengths[next] !== comparison) return
  reader.report(reader.token, "Comparisons do not chain", "Join two of them with `&&`, or use parentheses.")
}

export function startsOperation(reader: TokenReader): boolean {
  return operatorAt(reader) !== undefined
}

/** The operator that the reader is at, or what people from elsewhere write for it. */
function operatorAt(reader: TokenReader): BinaryOperator | undefined {
  const { token } = reader
  switch (token.kind) {
    case "name":
      return wordAt(reader, token)
    case "||":
    case "&&":
    case "==":
    case "!=":
    case "<":
    case "<=":
    case ">":
    case ">=":
      return token.kind
    case "bad":
      return foreignSigns[reader.textOf(token)]
    case "+":
      return token.kind
    case "-":
      // `-- text` is a comment elsewhere.
      if (token.afterBreak && reader.peek().kind === "-" && reader.peek().start === token.end) return undefined
      return operandFollows(reader, 1) ? token.kind : undefined
    case "*":
    case "/":
    case "%":
      return operandFollows(reader, 1) ? token.kind : undefined
    default:
      return undefined
  }
}

const foreignSigns: Readonly<Partial<Record<string, BinaryOperator>>> = Object.assign(Object.create(null), {
  "=": "==",
  "===": "==",
  "!==": "!=",
  "<>": "!=",
  "&": "&&",
})

/** `contains` and `in`; and the words of other languages, where they can be nothing else. */
function wordAt(reader: TokenReader, token: Token): BinaryOperator | undefined {
  for (const word of ["contains", "in"] as const) {
    if (reader.isWord(word)) return operandFollows(reader, 1) || reader.peek().kind === "{" ? word : undefined
  }
  if (token.afterBreak) return undefined
  return isForeignWord(reader, "and") ? "&&" : isForeignWord(reader, "or") ? "||" : undefined
}

/** What follows a value: `if[0]` and the `if` in `for x in if when …` are a variable of that name. `_` begins the last branch of a match. */
const afterValue = new Set(["[", "-", "for", "in", "when", "by", "descending", "_"])

/** Whether a word of another language is followed by its operand on the same line: then it can be nothing else. */
export function isForeignWord(reader: TokenReader, word: string): boolean {
  if (!reader.isWord(word)) return false
  const next = reader.peek()
  if (next.afterBreak || !operandFollows(reader, 1)) return false
  return !afterValue.has(reader.textOf(next))
}

/** Whether the token `ahead` begins a value, and is not the name of the next field. */
export function operandFollows(reader: TokenReader, ahead: number): boolean {
  let at = ahead
  // More of them would be nested too deep, which the operand itself reports.
  while (reader.peek(at).kind === "-" && at < ahead + sourceNesting) at++
  switch (reader.peek(at).kind) {
    case "name":
    case "string":
      return reader.peek(at + 1).kind !== ":"
    case "head":
    case "number":
    case "(":
    case "[":
    case "!":
      return true
    case "-":
      return true
    default:
      return false
  }
}

/** `condition ? a : b`: explained, and read over. */
export function parseTernary(reader: TokenReader, condition: Expression, parseExpression: Parse): Expression {
  if (reader.textOf(reader.token) !== "?" || reader.peek().afterBreak) return condition
  const next = reader.peek().kind
  if (next !== "name" && next !== "string" && next !== "[" && next !== "{" && !operandFollows(reader, 1)) {
    return condition
  }
  reader.take()
  const chosen = parseExpression(reader)
  const other = reader.accept(":") === undefined ? undefined : parseExpression(reader)
  const show = (node: Expression | undefined): string => (node === undefined ? "…" : reader.quote(node))
  const hint =
    show(condition) === show(chosen)
      ? `${show(condition)} ?? ${show(other)}`
      : `match ${show(condition)} { true: ${show(chosen)}, false: ${show(other)} }`
  reader.report({ start: condition.start, end: reader.previous.end }, "There is no `? :`", write(hint))
  return missing(reader)
}

export function isArithmetic(operator: BinaryOperator): operator is Arithmetic {
  return operator === "+" || operator === "-" || operator === "*" || operator === "/" || operator === "%"
}
