import type { FunctionCode } from "../check/program.ts"
import type { Span } from "../source/span.ts"

// Where functions are in code files. Nothing is parsed: an editor needs a place that is right for code as people write it.

export interface CodePlace {
  readonly file: string
  readonly text: string
  /** The name in the export. */
  readonly span: Span
  /** The comment above it, without its signs. */
  readonly doc: string | undefined
}

/** The export that a function is. The file itself where it is not found. */
export function codePlace({ files, name }: FunctionCode): CodePlace {
  const { entry: file, texts } = files
  const text = texts[file] ?? ""
  const found = exportsIn(text)
  const one = found.find((each) => each.name === name) ?? found.find((each) => each.name === "default")
  if (one === undefined) return { file, text, span: { start: 0, end: 0 }, doc: undefined }
  return { file, text, span: one.span, doc: commentBefore(text, one.start) }
}

/** The name of the export at an offset of a code file. */
export function exportAt(text: string, offset: number): string | undefined {
  return exportsIn(text).find(({ span }) => offset >= span.start && offset <= span.end)?.name
}

interface Export {
  readonly name: string
  readonly span: Span
  /** Where the statement begins. */
  readonly start: number
}

const declared = /^export\s+(default\s+)?(?:async\s+)?(?:function\b\s*\*?|const\b|let\b|var\b|class\b)\s*([\w$]+)?/gm
const listed = /^export\s*\{([^}]*)\}/gm

function exportsIn(text: string): Export[] {
  const found: Export[] = []
  for (const match of text.matchAll(declared)) {
    const [all, isDefault, own] = match
    const end = match.index + all.length
    const span = { start: end - (own ?? "").length, end }
    if (own !== undefined) found.push({ name: own, span, start: match.index })
    if (isDefault !== undefined) found.push({ name: "default", span, start: match.index })
  }
  for (const match of text.matchAll(listed)) {
    const from = match.index + match[0].indexOf("{") + 1
    for (const item of (match[1] ?? "").matchAll(/([\w$]+)(?:\s+as\s+([\w$]+))?/g)) {
      const name = item[2] ?? item[1] ?? ""
      const end = from + item.index + item[0].length
      found.push({ name, span: { start: end - name.length, end }, start: declarationOf(text, item[1] ?? "") })
    }
  }
  const plain = /^export\s+default\b/m.exec(text)
  if (plain !== null && !found.some(({ name }) => name === "default")) {
    const end = plain.index + plain[0].length
    found.push({ name: "default", span: { start: end - "default".length, end }, start: plain.index })
  }
  return found
}

function declarationOf(text: string, name: string): number {
  const escaped = name.replaceAll("$", "\\$")
  return new RegExp(`^(?:function\\s+|const\\s+|let\\s+|var\\s+)${escaped}(?![\\w$])`, "m").exec(text)?.index ?? 0
}

/** The block or the lines of a comment that end right before an offset. */
function commentBefore(text: string, offset: number): string | undefined {
  const before = text.slice(0, offset).trimEnd()
  if (before.length > 0 && text.slice(before.length, offset).split("\n").length > 2) return undefined
  if (before.endsWith("*/")) {
    const open = before.lastIndexOf("/*")
    const lines = before.slice(open, -2).split("\n")
    return cleaned(lines.map((line) => line.replace(/^\s*\/?\*+ ?/, "")))
  }
  const lines = before.split("\n")
  const from = lines.findLastIndex((line) => !/^\s*\/\//.test(line)) + 1
  return cleaned(lines.slice(from).map((line) => line.replace(/^\s*\/\/+ ?/, "")))
}

function cleaned(lines: readonly string[]): string | undefined {
  const text = lines.join("\n").trim()
  return text === "" ? undefined : text
}
