import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Span } from "../../source/span.ts"
import type { Expression } from "../../syntax/tree.ts"
import { insertAt, replaceWith, type Fix } from "./fix.ts"
import { withoutItem } from "./remove.ts"
import { useAt } from "../use-at.ts"

/** A condition that is written out: `when true`. */
export function removeCondition(
  program: Program,
  { span, path, data }: Diagnostic<"constant-condition">,
): readonly Fix[] {
  const { declaration } = useAt(program, span.start) ?? {}
  if (
    !path.endsWith(".when") ||
    (declaration?.kind !== "agent" && declaration?.kind !== "ask" && declaration?.kind !== "wait")
  )
    return []
  const { when, loop, name } = declaration
  if (when === undefined) return []
  if (when.condition.start !== span.start || when.condition.end !== span.end) {
    return data?.kind === "always" ? removeOperand(when.condition, span, data.value) : []
  }
  const around = { start: (loop ?? name).end, end: when.end }
  return [{ title: "Remove the condition", edits: [replaceWith(around, "")], preferred: false }]
}

/** `input.name != null && input.ready` without the side that is always true; of `||`, the one that is always false. */
function removeOperand(condition: Expression, span: Span, always: boolean): readonly Fix[] {
  if (condition.kind === "group") return removeOperand(condition.expression, span, always)
  if (condition.kind !== "binary") return []
  const { left, right, operator } = condition
  if (operator !== "&&" && operator !== "||") return []
  if (always === (operator === "&&")) {
    const edits = isAround(left, span)
      ? [replaceWith({ start: left.start, end: right.start }, "")]
      : isAround(right, span)
        ? [replaceWith({ start: left.end, end: right.end }, "")]
        : []
    if (edits.length > 0) return [{ title: `Remove what is always ${String(always)}`, edits, preferred: false }]
  }
  return [...removeOperand(left, span, always), ...removeOperand(right, span, always)]
}

/** Whether the expression is what stands at the span, in parentheses or not. */
function isAround(expression: Expression, span: Span): boolean {
  if (expression.start === span.start && expression.end === span.end) return true
  return expression.kind === "group" && isAround(expression.expression, span)
}

/** A condition that is not a boolean, a value without its colon, and a file that is written with one. */
export function fixMismatch(program: Program, { span, data }: Diagnostic<"type-mismatch">): readonly Fix[] {
  const { text } = program.tree
  switch (data?.kind) {
    case "test": {
      // `!` binds more strongly than a comparison.
      const isNegated = /![ \t]*$/.test(text.slice(Math.max(0, span.start - 80), span.start))
      const edits = [replaceWith(span, isNegated ? `(${data.text})` : data.text)]
      return [{ title: `Write \`${data.text}\``, edits, preferred: true }]
    }
    case "missing-colon":
      return [{ title: "Add the colon", edits: [insertAt(span.end, ":")], preferred: true }]
    case "surplus-colon": {
      const start = text.lastIndexOf(":", span.start)
      return [{ title: "Remove the colon", edits: [replaceWith({ start, end: start + 1 }, "")], preferred: true }]
    }
    default:
      return []
  }
}

/** A property that does not exist, and has no other name. */
export function removeProperty(
  program: Program,
  diagnostic: Diagnostic<"unknown-property" | "invalid-score">,
): readonly Fix[] {
  return diagnostic.data?.kind === "remove" ? removeSetting(program, diagnostic) : []
}

/** A setting that the API does not have. */
export function removeSetting(program: Program, { span }: Diagnostic): readonly Fix[] {
  const use = useAt(program, span.start)
  if (use?.kind !== "property") return []
  return [{ title: `Remove \`${use.text}\``, edits: [withoutItem(program.tree.text, use.property)], preferred: false }]
}
