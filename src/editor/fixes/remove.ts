import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Span } from "../../source/span.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { Edit } from "../edit.ts"
import { tokenIndexAt } from "../token-at.ts"
import { useAt } from "../use-at.ts"
import { replaceWith, type Fix } from "./fix.ts"

/** Removes a declaration or import that nothing refers to, with its doc comment. */
export function removeDeclaration(program: Program, { span, path }: Diagnostic): readonly Fix[] {
  const use = useAt(program, span.start)
  if (use?.declaration.kind === "file-import") return removeImported(program, use.declaration, span, path)
  if (use?.kind !== "declaration" || !("keyword" in use.node)) return []
  const { node } = use
  const { tree } = program
  const docs = tree.tokens[tokenIndexAt(tree, node.start)]?.comments.filter(({ style }) => style === "doc") ?? []
  const start = docs[0]?.start ?? node.start
  return [{ title: `Remove \`${path}\``, edits: [withoutItem(tree.text, { start, end: node.end })], preferred: false }]
}

/** Takes a name out of an import; the import where it is the only one. */
function removeImported(
  { tree }: Program,
  declaration: Syntax.FileImportDeclaration,
  span: Span,
  path: string,
): readonly Fix[] {
  const { items } = declaration.names
  const at = items.findIndex(({ name }) => name.start === span.start)
  const [item, next, before] = [items[at], items[at + 1], items[at - 1]]
  if (item === undefined) return []
  const title = `Remove \`${path}\``
  if (items.length === 1) return [{ title, edits: [withoutItem(tree.text, declaration)], preferred: false }]
  const piece =
    next === undefined ? { start: before?.end ?? item.start, end: item.end } : { start: item.start, end: next.start }
  return [{ title, edits: [replaceWith(piece, "")], preferred: false }]
}

/** Removes a default that is never used, or a branch that is never taken. */
export function removeBranch(program: Program, { span }: Diagnostic): readonly Fix[] {
  const { tree } = program
  const before = tree.tokens[tokenIndexAt(tree, span.start) - 1]
  if (before?.kind === "??") {
    const start = tree.tokens[tokenIndexAt(tree, before.start) - 1]?.end ?? before.start
    return [{ title: "Remove the default", edits: [replaceWith({ start, end: span.end }, "")], preferred: true }]
  }
  const use = useAt(program, span.start)
  const isBranch = use?.kind === "branch" || (use?.kind === "keyword" && use.text === "_")
  return isBranch ? [{ title: "Remove the branch", edits: [withoutItem(tree.text, span)], preferred: true }] : []
}

/** Removes the second of two equal models in a list, with the comma before it. */
export function removeRepeatedModel(program: Program, { span }: Diagnostic): readonly Fix[] {
  const { tree } = program
  const use = useAt(program, span.start)
  if (use?.kind !== "root" || use.setting.expects !== "model") return []
  const first = tokenIndexAt(tree, span.start)
  const comma = tree.tokens[first - 1]
  const before = tree.tokens[first - 2]
  if (comma?.kind !== "," || before === undefined) return []
  const entry = program.tree.declarations
    .flatMap((declaration) => (declaration.kind === "agent" ? declaration.body.items : []))
    .flatMap(({ value }) => [
      value,
      ...(value.kind === "context" ? (value.block?.items ?? []).map((item) => item.value) : []),
    ])
    .flatMap((value) => (value.kind === "models" ? value.entries : []))
    .find(({ start }) => start === span.start)
  const edits = [replaceWith({ start: before.end, end: entry?.end ?? span.end }, "")]
  return [{ title: `Remove the second \`${tree.text.slice(span.start, span.end)}\``, edits, preferred: true }]
}

/** Takes an item out, with its line and the blank line after it where it has lines to itself. */
export function withoutItem(text: string, span: Span): Edit {
  let { start, end } = span
  if (text[end] === ",") end++
  while (start > 0 && (text[start - 1] === " " || text[start - 1] === "\t")) start--
  const ownsStart = start === 0 || text[start - 1] === "\n" || text[start - 1] === "\r"
  const rest = /^[ \t]*(?:\r\n|\r|\n|$)/.exec(text.slice(end))
  if (!ownsStart || rest === null) return replaceWith({ start: span.start, end }, "")
  end += rest[0].length
  const blank = /^[ \t]*(?:\r\n|\r|\n)/.exec(text.slice(end))
  const afterBlank =
    start === 0 || /(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)$/.test(text.slice(Math.max(0, start - 80), start))
  if (blank !== null && afterBlank) end += blank[0].length
  return replaceWith({ start, end }, "")
}
