import { eachPart } from "../../check/imported-declaration.ts"
import { isForeign } from "../../check/file-space.ts"
import type { ImportSymbol, Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import { propertyOf } from "../../syntax/property-of.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { Edit } from "../edit.ts"
import { atStart } from "./add.ts"
import { insertAt, type Fix } from "./fix.ts"

/** Strangers' words that could act: a person approves, the source is trusted, or the value is. */
export function fixUntrusted(program: Program, diagnostic: Diagnostic<"untrusted-action">): readonly Fix[] {
  const places = diagnostic.data?.kind === "way" ? diagnostic.data.places : []
  return [
    ...requireApproval(program, diagnostic),
    ...trustSource(program, places),
    ...except(program, diagnostic, places),
  ]
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
  const end = conditionEnd(program, span.end) ?? span.end
  const [blanks = ""] = /^[ \t]*/.exec(text.slice(end)) ?? []
  const brace = end + blanks.length
  const edit =
    text[brace] === "{" ? insertAt(brace + 1, " approval: required,") : insertAt(end, " { approval: required }")
  return [{ title: "Require approval", edits: [edit], preferred: true }]
}

/** Where the `when` of a call ends whose tool ends here; the block of the call comes after it. */
function conditionEnd({ tree }: Program, target: number): number | undefined {
  let end: number | undefined
  eachPart(tree.declarations, (part) => {
    if (part["kind"] !== "call") return
    const call = part as unknown as Syntax.InvokeNode
    if (call.target.end === target) end = call.when?.end
  })
  return end
}

/** `gives: trusted` on the tool that the words come from. */
function trustSource(program: Program, [source = ""]: readonly string[]): readonly Fix[] {
  const symbol = toolNamed(program, source)
  const edit = symbol && setOn(program, symbol, "gives", "trusted")
  if (symbol === undefined || edit === undefined) return []
  return [{ title: `Add \`gives: trusted\` to tool.${symbol.name.text}`, edits: [edit], preferred: false }]
}

/** `trust … because ""` around a reference on the way: in the arguments, else where the way begins, else the last one before the call. */
function except(
  program: Program,
  { span, related: [, next] = [] }: Diagnostic,
  [source, ...passed]: readonly string[],
): readonly Fix[] {
  if (source === undefined) return []
  const { text, declarations } = program.tree
  const around = declarations.find(({ start, end }) => start <= span.start && span.end <= end) ?? span
  const first = next && declarations.find(({ start, end }) => start <= next.span.start && next.span.end <= end)
  const chains = [...program.roots.keys()].sort((a, b) => a.start - b.start)
  const [name = ""] = source.split(".*")
  // `agent.reader` of `agent.reader.instruction`
  const steps = passed.map((place) => place.split(".").slice(0, 2).join("."))
  const find = (places: readonly string[], start: number, end: number, among = chains): Syntax.Chain | undefined =>
    among.find((one) => {
      const written = text.slice(one.start, one.end)
      const isNamed = places.some((place) => written.startsWith(place) && !/\w/.test(written[place.length] ?? ""))
      return one.start >= start && one.end <= end && isNamed
    })
  const chain =
    find([name, ...steps], span.start, argumentsAfter(program, span).end) ??
    (first && next && find([name], next.span.start, first.end)) ??
    find([name, ...steps], around.start, span.start, chains.toReversed())
  if (chain === undefined) return []
  const written = text.slice(chain.start, chain.end)
  const because = { ...insertAt(chain.end, ' because ""'), snippet: ' because "$0"' }
  return [
    { title: `Trust ${written} for a reason`, edits: [insertAt(chain.start, "trust "), because], preferred: false },
  ]
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
