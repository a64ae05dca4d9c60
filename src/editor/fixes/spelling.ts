import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Span } from "../../source/span.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { useAt } from "../use-at.ts"
import { insertAt, replaceWith, type Fix } from "./fix.ts"
import { withoutItem } from "./remove.ts"

// What other languages, and older versions of this one, write.

/** A word of another language that says nothing here. */
export function removeWord(program: Program, { span, data }: Diagnostic<"syntax-error">): readonly Fix[] {
  if (data?.kind !== "remove") return []
  const title = `Remove \`${program.tree.text.slice(span.start, span.end)}\``
  return [{ title, edits: [replaceWith(data.span ?? span, "")], preferred: true }]
}

/** `my-greeter` as a name: `my_greeter`, where it is declared and wherever it follows a dot. */
export function fixName(program: Program, { span, data }: Diagnostic<"syntax-error">): readonly Fix[] {
  const { text } = program.tree
  const name = text.slice(span.start, span.end)
  if (data?.kind !== "dashed-name" || !/^\w+(?:-\w+)+$/.test(name)) return []
  const instead = name.replaceAll("-", "_")
  const edits = [replaceWith(span, instead)]
  for (let at = text.indexOf(`.${name}`); at >= 0; at = text.indexOf(`.${name}`, at + 1)) {
    const start = at + 1
    const end = start + name.length
    if (!/[\w-]/.test(text[end] ?? "") && start !== span.start) edits.push(replaceWith({ start, end }, instead))
  }
  return [{ title: `Change to \`${instead}\``, edits, preferred: true }]
}

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
function callAround(program: Program, span: Span): Syntax.FunctionNode | undefined {
  let around: Syntax.FunctionNode | undefined
  for (const node of program.expressionTypes.keys()) {
    if (node.kind !== "function" || node.start > span.start || node.end < span.end || node.name.start > span.end)
      continue
    if (around === undefined || node.end - node.start < around.end - around.start) around = node
  }
  return around
}

/** A provider without its kind, or with the old `driver`. */
export function fixObsolete(program: Program, { span }: Diagnostic): readonly Fix[] {
  const use = useAt(program, span.start)
  const { declaration } = use ?? {}
  if (declaration?.kind === "provider" && (use?.kind === "declaration" || use?.text === "driver")) {
    return [providerKind(program, declaration)]
  }
  return []
}

/** `provider x { driver: … }` is now `provider x from openai { }`. */
function providerKind(program: Program, declaration: Syntax.ProviderDeclaration): Fix {
  const driver = declaration.body.items.find(({ name }) => name.text === "driver")
  const edits = declaration.providerKind === undefined ? [insertAt(declaration.name.end, " from openai")] : []
  if (driver !== undefined) edits.push(withoutItem(program.tree.text, driver))
  return { title: "Write `from openai`", edits, preferred: true }
}
