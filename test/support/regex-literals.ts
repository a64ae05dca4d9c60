import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** A regular expression in the source. */
export interface RegexLiteral {
  readonly file: string
  readonly line: number
  readonly source: string
  readonly flags: string
}

/** A regular expression that is put together at run time. */
export interface BuiltRegex {
  readonly file: string
  readonly line: number
  readonly text: string
}

/** Every regular expression in the TypeScript files below a folder, tests left out. */
export function regexesIn(folder: string): { literals: RegexLiteral[]; built: BuiltRegex[] } {
  const literals: RegexLiteral[] = []
  const built: BuiltRegex[] = []
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()) {
    if (!/\.tsx?$/.test(name) || /\.test\.tsx?$/.test(name) || name.includes("node_modules")) continue
    const file = join(folder, name)
    const text = readFileSync(file, "utf8")
    const lineOf = (at: number): number => text.slice(0, at).split("\n").length
    for (const { at, source, flags } of scan(text)) literals.push({ file, line: lineOf(at), source, flags })
    for (const match of text.matchAll(/\bnew RegExp\(.*/g)) {
      built.push({ file, line: lineOf(match.index), text: match[0] })
    }
  }
  return { literals, built }
}

/** After these words a slash begins a regular expression. */
const beforeRegex = new Set("return typeof case do else in of void delete throw new instanceof yield await".split(" "))

/** Enough of a scanner to tell a regular expression from a division, a comment and a piece of a string. */
export function scan(text: string): { at: number; source: string; flags: string }[] {
  const found: { at: number; source: string; flags: string }[] = []
  /** Braces that are open: true for those of `${`, after which the template goes on. */
  const braces: boolean[] = []
  let at = text.startsWith("#!") ? endOr(text, "\n", 0) : 0
  /** Whether an operand has just ended, so that a slash divides. */
  let afterOperand = false

  const skipTemplate = (): void => {
    for (; at < text.length; at++) {
      if (text[at] === "\\") at++
      else if (text[at] === "`") {
        at++
        afterOperand = true
        return
      } else if (text[at] === "$" && text[at + 1] === "{") {
        at += 2
        braces.push(true)
        afterOperand = false
        return
      }
    }
  }

  while (at < text.length) {
    const letter = text[at] ?? ""
    if (/\s/.test(letter)) at++
    else if (text.startsWith("//", at)) at = endOr(text, "\n", at)
    else if (text.startsWith("/*", at)) at = endOr(text, "*/", at + 2) + 2
    else if (letter === '"' || letter === "'") {
      for (at++; at < text.length && text[at] !== letter; at++) if (text[at] === "\\") at++
      at++
      afterOperand = true
    } else if (letter === "`") {
      at++
      skipTemplate()
    } else if (letter === "/" && !afterOperand) {
      const start = at
      let inClass = false
      for (at++; text[at] !== "/" || inClass; at++) {
        if (text[at] === "\n" || at >= text.length) throw new Error(`No regular expression: ${text.slice(start, at)}`)
        if (text[at] === "\\") at++
        else if (text[at] === "[") inClass = true
        else if (text[at] === "]") inClass = false
      }
      const source = text.slice(start + 1, at++)
      const flags = /[a-z]*/y
      flags.lastIndex = at
      const [letters = ""] = flags.exec(text) ?? []
      at += letters.length
      found.push({ at: start, source, flags: letters })
      afterOperand = true
    } else if (/[\w$]/.test(letter)) {
      const word = /[\w$]+/y
      word.lastIndex = at
      const [name = ""] = word.exec(text) ?? []
      at += name.length
      afterOperand = !beforeRegex.has(name)
    } else {
      if (letter === "{") braces.push(false)
      at++
      if (letter === "}" && braces.pop() === true) skipTemplate()
      else afterOperand = letter === ")" || letter === "]" || letter === "}"
    }
  }
  return found
}

function endOr(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from)
  return found < 0 ? text.length : found
}
