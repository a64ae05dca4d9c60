import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Span } from "../../source/span.ts"
import type { Expression } from "../../syntax/tree.ts"
import { insertAt, replaceWith, type Fix } from "./fix.ts"
import { withoutItem } from "./remove.ts"
import { useAt } from "../use-at.ts"

/** What another language writes: `===`, `and`, `if`. The hint names what is written here. */
export function fixForeignWord(program: Program, { span, message, hint = "" }: Diagnostic): readonly Fix[] {
  const { text } = program.tree
  const [, now] = /^Write `(==|!=|&&|\|\||!)`\.$/.exec(hint) ?? []
  if (now !== undefined && message.endsWith("is not an operator")) {
    const end = now === "!" ? blanksAfter(text, span.end) : span.end
    return [{ title: `Write \`${now}\``, edits: [replaceWith({ ...span, end }, now)], preferred: true }]
  }
  if (message.startsWith("A branch has no `")) {
    const arrow = { start: blanksBefore(text, span.start), end: span.end }
    return [{ title: "Write `:`", edits: [replaceWith(arrow, ":")], preferred: true }]
  }
  const clause = Object.entries(clauses).find(([start]) => message.startsWith(start))?.[1]
  if (clause !== undefined) {
    return [{ title: `Write \`${clause}\``, edits: [replaceWith(span, clause)], preferred: true }]
  }
  if (message === "A list is sorted ascending without a word") {
    const around = { start: blanksBefore(text, span.start), end: span.end }
    return [{ title: hint.replace(/\.$/, ""), edits: [replaceWith(around, "")], preferred: true }]
  }
  if (hint === "Write `_ value`." && program.tree.text.slice(span.start, span.end) === "else") {
    return [{ title: "Write `_`", edits: [replaceWith(span, "_")], preferred: true }]
  }
  const other = ourSpelling(text.slice(span.start, span.end), message, hint)
  if (other !== undefined) {
    return [{ title: `Write \`${other}\``, edits: [replaceWith(span, other)], preferred: true }]
  }
  // `a ? b : c`: the whole expression is written anew.
  const [, instead] = /^Write `(.+)`\.$/.exec(hint) ?? []
  const isWhole = message.startsWith("There is no `") && span.end - span.start > 2
  if (!isWhole || instead === undefined || instead.includes("…")) return []
  return [{ title: `Write \`${instead}\``, edits: [replaceWith(span, instead)], preferred: true }]
}

/** The words of a step's head and of a list, by the beginning of the message about another one. */
const clauses: Readonly<Record<string, string>> = {
  "A condition is not written with ": "when",
  "The condition of a list is not written with ": "when",
  "A list is not sorted with ": "by",
  "`desc` is not a direction": "descending",
}

/** The form of this language for a comment with `#` and for `'text'`. */
function ourSpelling(written: string, message: string, hint: string): string | undefined {
  if (written === "#" && hint === "A comment begins with `//`.") return "//"
  const [, text] = /^'([^']*)'$/.exec(written) ?? []
  return text === undefined || !message.startsWith("Strings are written with") ? undefined : JSON.stringify(text)
}

function blanksAfter(text: string, at: number): number {
  while (text[at] === " " || text[at] === "\t") at++
  return at
}

function blanksBefore(text: string, at: number): number {
  while (text[at - 1] === " " || text[at - 1] === "\t") at--
  return at
}

/** `true: …` for a member of that name, `else: …` for the rest. */
export function fixCase(program: Program, { span, hint = "" }: Diagnostic): readonly Fix[] {
  const quoted = JSON.stringify(program.tree.text.slice(span.start, span.end))
  if (hint.startsWith(`Write \`${quoted}: …`)) {
    return [{ title: `Write \`${quoted}\``, edits: [replaceWith(span, quoted)], preferred: true }]
  }
  if (hint !== "The rest is written `_ value`.") return []
  return [{ title: "Write `_`", edits: [replaceWith(span, "_")], preferred: true }]
}

/** A condition that is written out: `when true`. */
export function removeCondition(program: Program, { span, path, message }: Diagnostic): readonly Fix[] {
  const { declaration } = useAt(program, span.start) ?? {}
  if (!path.endsWith(".when") || (declaration?.kind !== "agent" && declaration?.kind !== "ask")) return []
  const { when, loop, name } = declaration
  if (when === undefined) return []
  if (when.condition.start !== span.start || when.condition.end !== span.end) {
    return removeOperand(when.condition, span, message)
  }
  const around = { start: (loop ?? name).end, end: when.end }
  return [{ title: "Remove the condition", edits: [replaceWith(around, "")], preferred: false }]
}

/** `input.name != null && input.ready` without the side that is always true; of `||`, the one that is always false. */
function removeOperand(condition: Expression, span: Span, message: string): readonly Fix[] {
  if (condition.kind === "group") return removeOperand(condition.expression, span, message)
  if (condition.kind !== "binary") return []
  const { left, right, operator } = condition
  const decidesNothing = operator === "&&" ? "always true" : operator === "||" ? "always false" : undefined
  if (decidesNothing === undefined) return []
  if (message.endsWith(decidesNothing)) {
    const edits = isAround(left, span)
      ? [replaceWith({ start: left.start, end: right.start }, "")]
      : isAround(right, span)
        ? [replaceWith({ start: left.end, end: right.end }, "")]
        : []
    if (edits.length > 0) return [{ title: `Remove what is ${decidesNothing}`, edits, preferred: false }]
  }
  return [...removeOperand(left, span, message), ...removeOperand(right, span, message)]
}

/** Whether the expression is what stands at the span, in parentheses or not. */
function isAround(expression: Expression, span: Span): boolean {
  if (expression.start === span.start && expression.end === span.end) return true
  return expression.kind === "group" && isAround(expression.expression, span)
}

/** A condition that is not a boolean, a value without its colon, and a file that is written with one. */
export function fixMismatch(program: Program, { span, message, hint = "" }: Diagnostic): readonly Fix[] {
  const { text } = program.tree
  const written = text.slice(span.start, span.end)
  const [, test] = /^(?:Compare it|Ask whether it is there): `(.*)`\.$/.exec(hint) ?? []
  if (test?.startsWith(written) === true && !test.includes("…")) {
    // `!` binds more strongly than a comparison.
    const isNegated = text[blanksBefore(text, span.start) - 1] === "!"
    const edit = isNegated ? replaceWith(span, `(${test})`) : insertAt(span.end, test.slice(written.length))
    return [{ title: `Write \`${test}\``, edits: [edit], preferred: true }]
  }
  const [, joined] =
    /^(?:Texts are joined by interpolation|Arrays are joined by a function): `(.*)`\.$/s.exec(hint) ?? []
  if (joined !== undefined && !joined.includes("…")) {
    const edits = [replaceWith(sumAround(program, span), joined)]
    return [{ title: `Write \`${joined}\``, edits, preferred: true }]
  }
  if (message === "Expected a value, found a block") {
    return [{ title: "Add the colon", edits: [insertAt(span.end, ":")], preferred: true }]
  }
  if (hint.endsWith(", without the colon.")) {
    const colon = text.lastIndexOf(":", span.start)
    return [{ title: "Remove the colon", edits: [replaceWith({ start: colon, end: colon + 1 }, "")], preferred: true }]
  }
  return []
}

/** The whole of `a + b + c` around a part of it. */
function sumAround(program: Program, span: Span): Span {
  let around = span
  for (const node of program.expressionTypes.keys()) {
    const isSum = node.kind === "binary" && node.operator === "+"
    if (isSum && node.start <= around.start && node.end >= around.end) around = node
  }
  return { start: around.start, end: around.end }
}

/** An operand that may be null. */
export function fixNullableOperand({ span, hint = "" }: Diagnostic): readonly Fix[] {
  const [, value] = /^Write `.* \?\? ([^`]+)`\.$/.exec(hint) ?? []
  if (value === undefined) return []
  return [{ title: `Give the default \`${value}\``, edits: [insertAt(span.end, ` ?? ${value}`)], preferred: true }]
}

/** A setting that the API does not have. */
export function removeSetting(program: Program, { span }: Diagnostic): readonly Fix[] {
  const use = useAt(program, span.start)
  if (use?.kind !== "property") return []
  return [{ title: `Remove \`${use.text}\``, edits: [withoutItem(program.tree.text, use.property)], preferred: false }]
}
