import { cutText } from "../base/cut-text.ts"
import { visibleText, withoutHidden } from "../base/visible-text.ts"

const longest = 160

/** Lines of a text that somebody else wrote, each of them fit to stand in a comment. */
function cleanLines(text: string, most: number): string[] {
  return withoutHidden(text.slice(0, 10_000))
    .split("\n")
    .map((line) => cutText(visibleText(line).trim(), longest))
    .filter((line) => line !== "")
    .slice(0, most)
}

export function docLines(text: string | undefined, most: number): string {
  return cleanLines(text ?? "", most)
    .map((line) => `/// ${line}\n`)
    .join("")
}

export function commentLines(text: string): string {
  return cleanLines(text, 20)
    .map((line) => `// ${line}\n`)
    .join("")
}
