import { isForeign } from "../../check/file-space.ts"
import type { ImportSymbol, Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import { propertyOf } from "../../syntax/property-of.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { Edit } from "../edit.ts"
import { atStart } from "./add.ts"
import { insertAt, type Fix } from "./fix.ts"

/** Strangers' words that could act: a person approves, the source is trusted, or the value is. */
export function fixUntrusted(program: Program, diagnostic: Diagnostic): readonly Fix[] {
  return [...requireApproval(program, diagnostic), ...trustSource(program, diagnostic), ...except(program, diagnostic)]
}

/** `requires: none` on the tool. */
export function addRequires(program: Program, { span }: Diagnostic): readonly Fix[] {
  const symbol = toolNamed(program, program.tree.text.slice(span.start, span.end))
  const edit = symbol && setOn(program, symbol, "requires", "none")
  if (symbol === undefined || edit === undefined) return []
  return [{ title: `Add \`requires: none\` to tool.${symbol.name.text}`, edits: [edit], preferred: false }]
}

/** `approval: required` on the entry of `uses`, or on the call. */
function requireApproval(program: Program, { span }: Diagnostic): readonly Fix[] {
  const { text } = program.tree
  const place = text.slice(span.start, span.end)
  if (!/(?:^|\s)tool\s*\.\s*\w+$/.test(place)) return []
  const [blanks = ""] = /^[ \t]*/.exec(text.slice(span.end)) ?? []
  const brace = span.end + blanks.length
  const edit =
    text[brace] === "{" ? insertAt(brace + 1, " approval: required,") : insertAt(span.end, " { approval: required }")
  return [{ title: "Require approval", edits: [edit], preferred: true }]
}

/** `gives: trusted` on the tool that the words come from. */
function trustSource(program: Program, { related = [] }: Diagnostic): readonly Fix[] {
  const symbol = toolNamed(program, related[0]?.message ?? "")
  const edit = symbol && setOn(program, symbol, "gives", "trusted")
  if (symbol === undefined || edit === undefined) return []
  return [{ title: `Add \`gives: trusted\` to tool.${symbol.name.text}`, edits: [edit], preferred: false }]
}

/** `trust … because ""` around the references of the argument that the source is written in. */
function except(program: Program, { span, related = [] }: Diagnostic): readonly Fix[] {
  const [source] = related
  if (source === undefined) return []
  const { end } = argumentsAfter(program, span)
  const chain = [...program.roots.keys()].find((one) => {
    return (
      one.start >= span.start &&
      one.end <= end &&
      program.tree.text.slice(one.start, one.end).startsWith(source.message)
    )
  })
  if (chain === undefined) return []
  const edits = [insertAt(chain.start, "trust "), insertAt(chain.end, ' because ""')]
  return [{ title: `Trust ${source.message} for a reason`, edits, preferred: false }]
}

/** The call at a place, with its block; a value by itself. */
function argumentsAfter(
  { tree: { tokens } }: Program,
  span: { readonly start: number; readonly end: number },
): { readonly end: number } {
  let at = tokens.findIndex(({ start }) => start >= span.end)
  if (tokens[at]?.kind !== "{") return span
  for (let depth = 0; at < tokens.length; at++) {
    const { kind, end = 0 } = tokens[at] ?? {}
    if (kind === "{") depth++
    if (kind === "}" && --depth === 0) return { end }
  }
  return span
}

function toolNamed({ tools }: Program, text: string): ImportSymbol | undefined {
  return tools.get(/^(?:call\s+)?tool\s*\.\s*(\w+)$/.exec(text)?.[1] ?? "")
}

/** Sets a property of an import that does not have it. */
function setOn({ tree }: Program, { node }: ImportSymbol, name: string, value: string): Edit | undefined {
  // An edit here cannot change another file.
  if (isForeign(node)) return undefined
  const body: Syntax.Block<Syntax.Property> | undefined = node.body
  if (body === undefined) return insertAt(node.end, ` {\n    ${name}: ${value}\n}`)
  return propertyOf(body, name) === undefined ? atStart(tree.text, body, `${name}: ${value}`) : undefined
}
