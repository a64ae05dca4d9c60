import { isFileValue } from "../../src/types/file-value.ts"

/** A text of a model as it is meant to be read: most models write Markdown. Only its plain parts are known here; all else stays as it is. */
export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "quote"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "list"; readonly start: number | null; readonly items: readonly string[] }

export type Inline = { readonly kind: "text" | "strong" | "emphasis" | "code"; readonly text: string }

const fence = /^\s*(```+|~~~+)/
const heading = /^(#{1,6})\s+(.*?)\s*#*$/
const bullet = /^\s*[-*+\u2022]\s+(.*)$/
const numbered = /^\s*(\d{1,9})[.)]\s+(.*)$/
const quote = /^\s*>\s?(.*)$/

/** In one pass over the lines. */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  const lines = text.replace(/\r\n?/g, "\n").split("\n")
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? ""
    const opened = fence.exec(line)?.[1]
    if (opened !== undefined) {
      let last = at + 1
      while (last < lines.length && lines[last]?.trim().startsWith(opened) === false) last++
      blocks.push({ kind: "code", text: lines.slice(at + 1, last).join("\n") })
      at = last + 1
      continue
    }
    const title = heading.exec(line)
    if (title !== null) {
      blocks.push({ kind: "heading", level: title[1]?.length ?? 1, text: title[2] ?? "" })
      at++
      continue
    }
    if (line.trim() === "") {
      at++
      continue
    }
    const [block, next] = readRun(lines, at)
    blocks.push(block)
    at = next
  }
  return blocks
}

/** Lines that belong together: a list, a quotation or a paragraph, and where the next block begins. */
function readRun(lines: readonly string[], from: number): [Block, number] {
  const first = lines[from] ?? ""
  const number = numbered.exec(first)
  if (number !== null) {
    const [items, next] = readItems(lines, from, (line) => numbered.exec(line)?.[2])
    return [{ kind: "list", start: Number(number[1]), items }, next]
  }
  if (bullet.test(first)) {
    const [items, next] = readItems(lines, from, (line) => bullet.exec(line)?.[1])
    return [{ kind: "list", start: null, items }, next]
  }
  const isQuote = quote.test(first)
  let at = from
  const taken: string[] = []
  for (; at < lines.length; at++) {
    const line = lines[at] ?? ""
    if (line.trim() === "" || quote.test(line) !== isQuote) break
    if (at > from && !isQuote && begins(line)) break
    taken.push(isQuote ? (quote.exec(line)?.[1] ?? "") : line)
  }
  return [{ kind: isQuote ? "quote" : "paragraph", text: taken.join("\n") }, at]
}

/** An indented line goes on with the item before it. */
function readItems(
  lines: readonly string[],
  from: number,
  itemIn: (line: string) => string | undefined,
): [string[], number] {
  const items: string[] = []
  let at = from
  for (; at < lines.length; at++) {
    const line = lines[at] ?? ""
    const item = itemIn(line)
    if (item !== undefined) items.push(item)
    else if (items.length > 0 && /^\s+\S/.test(line) && !begins(line))
      items.push(`${items.pop() ?? ""}\n${line.trim()}`)
    else break
  }
  return [items, at]
}

function begins(line: string): boolean {
  return [fence, heading, bullet, numbered].some((pattern) => pattern.test(line))
}

const marks = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|__([^_\n]+)__|\*([^*\s][^*\n]*)\*/g

/** Marks inside a line. A mark without its end is text. */
export function inlinesOf(text: string): Inline[] {
  const parts: Inline[] = []
  let at = 0
  for (const found of text.matchAll(marks)) {
    if (found.index > at) parts.push({ kind: "text", text: text.slice(at, found.index) })
    const [whole, code, strong, alsoStrong, emphasis] = found
    if (code !== undefined) parts.push({ kind: "code", text: code })
    else if (emphasis !== undefined) parts.push({ kind: "emphasis", text: emphasis })
    else parts.push({ kind: "strong", text: strong ?? alsoStrong ?? "" })
    at = found.index + whole.length
  }
  if (at < text.length) parts.push({ kind: "text", text: text.slice(at) })
  return parts
}

/** A text of this length takes more than a line of the tree. */
const aLine = 80

/** Whether a value holds a text that people read rather than look up, or a file, near its top. */
export function hasProse(value: unknown, levels = 3): boolean {
  if (typeof value === "string") return value.length > aLine || value.includes("\n")
  if (typeof value !== "object" || value === null || levels === 0) return false
  if (isFileValue(value)) return true
  return Object.values(value)
    .slice(0, 100)
    .some((one) => hasProse(one, levels - 1))
}
