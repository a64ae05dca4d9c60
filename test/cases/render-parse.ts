import { LineMap } from "../../src/source/line-map.ts"
import { parseWithTests } from "../../src/syntax/test-parser.ts"
import { renderDiagnostics, renderRange } from "./render-diagnostics.ts"

/** The tree, one node a line under its parent, then the diagnostics. */
export function render(source: string): string {
  const { tree, diagnostics } = parseWithTests(source)
  const lines = new LineMap(source)
  const out: string[] = []
  for (const declaration of tree.declarations) dump(declaration, "", out, lines)
  if (out.length === 0) out.push("(no declarations)")
  if (diagnostics.length > 0) out.push("", renderDiagnostics(diagnostics, lines))
  return out.join("\n")
}

/**
 * `label kind range attribute=value …`, then the children, each labelled with the property that holds it. A name is
 * `label range "text"`. Tokens are left out: their places follow from the tree. So are attributes that are undefined or
 * false.
 */
function dump(node: object, label: string, out: string[], lines: LineMap, indent = ""): void {
  const { kind, start, end, ...rest } = node as Readonly<Record<string, unknown>>
  const isName = kind === "name"
  const head = [label]
  if (typeof kind === "string" && !isName && kind !== label) head.push(kind)
  if (typeof start === "number" && typeof end === "number") head.push(renderRange(lines.range({ start, end })))
  if ("open" in rest && rest["close"] === undefined) head.push("unclosed")

  const children: [string, object][] = []
  for (const [key, value] of Object.entries(rest)) {
    if (value === undefined || value === false) continue
    if (isName && key === "text") head.push(JSON.stringify(value))
    else if (isList(value)) for (const item of value) children.push([key, item])
    else if (typeof value !== "object" || value === null) head.push(`${key}=${JSON.stringify(value)}`)
    else if (Array.isArray(value) && value.length > 0) head.push(`${key}=${JSON.stringify(value)}`)
    else if (!Array.isArray(value) && !isToken(value)) children.push([key, value])
  }
  out.push(indent + head.filter((part) => part !== "").join(" "))
  for (const [key, child] of children) dump(child, key, out, lines, `${indent}  `)
}

function isList(value: unknown): value is object[] {
  return Array.isArray(value) && value.some((item) => typeof item === "object")
}

function isToken(value: object): boolean {
  return "comments" in value && "afterBreak" in value
}
