import { didYouMean } from "../../base/did-you-mean.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { compile } from "../../compile.ts"
import { codeActions } from "../../editor/code-actions.ts"
import { applyEdits } from "../../editor/edit.ts"
import { codes } from "../../source/codes.ts"
import { openingComment } from "../../source/opening-comment.ts"
import type { Issue } from "../../source/diagnostic.ts"
import { formatText } from "../../syntax/format.ts"
import { reachOf } from "../../trust/reach.ts"
import { cutText } from "../../base/cut-text.ts"

/** The folder that the server was started in, and the package's own pages. */
export interface DocsParts {
  /** The text of a file of the folder; a sentence where it cannot be read. */
  read(path: string): { readonly text: string } | { readonly problem: string }
  /** A sentence where it cannot be written. */
  write(path: string, text: string): string | null
  /** Everything that is wrong with a text. `path` is undefined for a text that has none. */
  diagnose(text: string, path: string | undefined): readonly Issue[]
  /** Pages of the documentation, and examples, by name. */
  pages(): ReadonlyMap<string, string>
  examples(): ReadonlyMap<string, string>
}

/** What the caller did wrong, in a sentence. */
export class Refusal extends Error {}

interface DocsTool {
  readonly description: string
  readonly properties: Readonly<Record<string, JsonObject>>
  readonly required?: readonly string[]
  call(given: JsonObject): JsonObject | string
}

const source = { type: "string", description: "The text of a workflow." }
const path = { type: "string", description: "Or a `.wire` file of the folder that the server was started in." }
/** Each fix is a change of the text: after that, others may be possible or needless. */
const maxFixes = 50

export function docsTools(parts: DocsParts): Readonly<Record<string, DocsTool>> {
  const textOf = (given: JsonObject): { readonly text: string; readonly path: string | undefined } => {
    const { source: text, path: file } = given
    if (typeof text === "string" && file === undefined) return { text, path: undefined }
    if (typeof file !== "string" || text !== undefined) throw new Refusal("Give `source` or `path`: exactly one.")
    const found = parts.read(file)
    if ("problem" in found) throw new Refusal(found.problem)
    return { text: found.text, path: file }
  }
  return {
    check: {
      description:
        "Reports everything that is wrong with a workflow or a test file: code, message, hint, range. With `fix`, applies the fixes that are almost surely meant, and writes the file where there is a `path`.",
      properties: { source, path, fix: { type: "boolean", description: "Apply the fixes." } },
      call(given) {
        const { text, path: file } = textOf(given)
        const fixed = given["fix"] === true ? fixAll(text) : text
        const problem = fixed === text || file === undefined ? null : parts.write(file, fixed)
        if (problem !== null) throw new Refusal(problem)
        const issues = parts.diagnose(fixed, file).map((issue) => ({ ...issue }) as unknown as JsonObject)
        const valid = !issues.some(({ severity }) => severity === "error")
        return { valid, issues, ...(given["fix"] === true && { changed: fixed !== text, source: fixed }) }
      },
    },
    format: {
      description: "The canonical text of a workflow or a test file.",
      properties: { source, path },
      call(given) {
        const formatted = formatText(textOf(given).text)
        if ("formatted" in formatted) return { formatted: formatted.formatted }
        throw new Refusal("The text has syntax errors: `check` shows them.")
      },
    },
    explain: {
      description: "What a diagnostic code means, and what to do about it.",
      properties: { code: { type: "string", description: "Such as `nullable-access`." } },
      required: ["code"],
      call({ code }) {
        const name = typeof code === "string" ? code : ""
        const entry = Object.entries(codes).find(([one]) => one === name)?.[1]
        if (entry !== undefined) return { code: name, ...entry }
        const near = didYouMean(name, Object.keys(codes))
        throw new Refusal(`There is no code ${name}.${near === undefined ? "" : ` Did you mean ${near}?`}`)
      },
    },
    search_docs: {
      description: "Sections of the documentation that fit a few words best.",
      properties: { query: { type: "string", description: "A few words, such as `loop over a list`." } },
      required: ["query"],
      call({ query }) {
        if (typeof query !== "string" || query.trim() === "") throw new Refusal("`query` is a few words.")
        return { sections: searchPages(parts.pages(), query).map((section) => ({ ...section })) }
      },
    },
    examples: {
      description: "The examples of the package: without a name their list, with a name the source.",
      properties: { name: { type: "string" } },
      call({ name }) {
        const all = parts.examples()
        if (typeof name !== "string") {
          return { examples: [...all].map(([one, text]) => ({ name: one, about: openingComment(text) })) }
        }
        const found = all.get(name)
        if (found !== undefined) return { name, source: found }
        const near = didYouMean(name, [...all.keys()])
        throw new Refusal(`There is no example ${name}.${near === undefined ? "" : ` Did you mean ${near}?`}`)
      },
    },
    reach: {
      description: "Everything that a workflow can call and ask: backends, servers, APIs, tools, questions, secrets.",
      properties: { source, path },
      call(given) {
        const { plan, program } = compile(textOf(given).text)
        if (plan === undefined) throw new Refusal("The workflow has errors: `check` shows them.")
        return reachOf(program) as unknown as JsonObject
      },
    },
  }
}

/** Applies the fixes that are almost surely meant, one after the other. */
function fixAll(text: string): string {
  let current = text
  const seen = new Set([text])
  for (let count = 0; count < maxFixes; count++) {
    const { program, diagnostics } = compile(current)
    const whole = { start: 0, end: current.length }
    const fix = codeActions(program, diagnostics, whole).find(({ preferred }) => preferred)
    if (fix === undefined) return current
    const next = applyEdits(current, fix.edits)
    // A fix that undoes another would go on for ever.
    if (seen.has(next)) return current
    seen.add(next)
    current = next
  }
  return current
}

interface Section {
  readonly page: string
  readonly heading: string
  readonly text: string
}

const maxSections = 5
const sectionLength = 2_000

/** The sections of pages that have most of the words; a word in the heading counts more. */
function searchPages(pages: ReadonlyMap<string, string>, query: string): Section[] {
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_-]+/gu) ?? [])].slice(0, 20)
  const found: { readonly section: Section; readonly score: number }[] = []
  for (const [page, text] of pages) {
    for (const section of sectionsOf(page, text)) {
      const score = scoreOf(section, words)
      if (score > 0) found.push({ section, score })
    }
  }
  return found
    .sort((a, b) => b.score - a.score)
    .slice(0, maxSections)
    .map(({ section }) => ({ ...section, text: cutText(section.text, sectionLength) }))
}

function sectionsOf(page: string, text: string): Section[] {
  return text.split(/^(?=#{1,4} )/m).map((part) => {
    const heading = /^#+ (.*)/.exec(part)?.[1] ?? ""
    return { page, heading, text: part.trim() }
  })
}

function scoreOf({ heading, text }: Section, words: readonly string[]): number {
  const lower = text.toLowerCase()
  const head = heading.toLowerCase()
  let score = 0
  for (const word of words) {
    const times = lower.split(word).length - 1
    // A section that has all words wins over one that repeats one of them.
    if (times > 0) score += 10 + Math.min(times, 5) + (head.includes(word) ? 20 : 0)
  }
  return score
}
