import { cutText } from "../../base/cut-text.ts"

interface Section {
  readonly page: string
  readonly heading: string
  readonly text: string
}

const mostSections = 5
const sectionLength = 2_000

/** The sections of pages that have most of the words; a word in the heading counts more. */
export function searchPages(pages: ReadonlyMap<string, string>, query: string): Section[] {
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
    .slice(0, mostSections)
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
