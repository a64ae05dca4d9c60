import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Span } from "../../source/span.ts"
import type { FunctionNode } from "../../syntax/tree.ts"
import { useAt } from "../use-at.ts"
import { replaceWith, type Fix } from "./fix.ts"

/** What the hint says to write; undefined where a part of it is left to the author. */
function written(hint: string, start: string): string | undefined {
  const [, text] = new RegExp(`^${start} \`(.+?)\`[.:]`, "s").exec(hint) ?? []
  return text === undefined || text.includes("…") ? undefined : text
}

function write(span: Span, text: string): readonly Fix[] {
  return [{ title: `Write \`${text}\``, edits: [replaceWith(span, text)], preferred: true }]
}

/** A function or method of another language, or one with too many arguments: the whole call is written anew. */
export function fixFunction(program: Program, { span, hint = "" }: Diagnostic): readonly Fix[] {
  const text = written(hint, "Write") ?? written(hint, "Write a list from a list:")
  const node = text === undefined ? undefined : callAround(program, span)
  return text === undefined || node === undefined ? [] : write(node, text)
}

/** The innermost call whose name or argument the span is. */
function callAround(program: Program, span: Span): FunctionNode | undefined {
  let around: FunctionNode | undefined
  for (const node of program.expressionTypes.keys()) {
    if (node.kind !== "function" || node.start > span.start || node.end < span.end || node.name.start > span.end)
      continue
    if (around === undefined || node.end - node.start < around.end - around.start) around = node
  }
  return around
}

/** An argument of another type, where a function makes it fit; or one whose elements may be null. */
export function fixArgument({ span, message, hint = "" }: Diagnostic): readonly Fix[] {
  const isConverted = /^`\w+` takes /.test(message)
  const text = isConverted ? written(hint, "Write") : written(hint, "Leave them out:")
  return text === undefined ? [] : write(span, text)
}

/** `input.list.length` */
export function fixLength(program: Program, { span, hint = "" }: Diagnostic): readonly Fix[] {
  const text = written(hint, "Write")
  const use = useAt(program, span.start)
  if (use?.kind !== "step" || text?.includes("length(") !== true) return []
  return write({ start: use.chain.start, end: use.step.end }, text)
}
