import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Span } from "../../source/span.ts"
import type { FunctionNode } from "../../syntax/tree.ts"
import { replaceWith, type Fix } from "./fix.ts"

/** A call that the parser could not read to its end, written anew: `map(list, x => x.y)`. */
export function fixCall(
  program: Program,
  { span, data }: Diagnostic<"syntax-error" | "unknown-function">,
): readonly Fix[] {
  const node = data?.kind === "call" ? callAround(program, span) : undefined
  if (data?.kind !== "call" || node === undefined) return []
  return [{ title: `Write \`${data.text}\``, edits: [replaceWith(node, data.text)], preferred: true }]
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
