/** Finds the mistakes of style that a machine can judge: private words, comments without an actor, long sentences in the docs. */

export interface Complaint {
  readonly line: number
  readonly text: string
}

/** Words that only we would understand, and what to write instead. */
const privateWords: readonly (readonly [RegExp, string])[] = [
  [/\bdoors?\b/i, "name the thing: egress, the HTTP client, the route"],
  [/\bpurses?\b/i, "budget"],
  [/\bfarewells?\b/i, "name the act: ends the session"],
  [/\bwhither\b/i, "where to"],
  [/\b(?:strike|strikes|struck) off\b/i, "remove"],
  [/\bthat (?:is|are) meant\b/i, "name the thing"],
  [/\b(?:would|could|might|may|must) else\b/i, "otherwise"],
  [/\bso many (?:bytes|characters|milliseconds|seconds|items|times)\b/i, "this many, or the number"],
  [/\b1 items\b/, "1 item"],
]
const anyPrivateWord = new RegExp(privateWords.map(([word]) => word.source).join("|"), "i")

/** The first words of a comment that goes on without an actor. */
const opening = /^[ \t]*(?:\/\/|\/\*\*?)[ \t]?(Whose|What is|What are|That which|Who may)\b/gm

export const maxWords = 40

/** `file` decides how `text` is read: as a page of Markdown, or as a source. */
export function complaintsIn(file: string, text: string): Complaint[] {
  return file.endsWith(".md") ? inPage(text) : inSource(text)
}

function inSource(text: string): Complaint[] {
  const found: Complaint[] = [...text.matchAll(opening)].map(({ 1: first = "", index }) => ({
    line: text.slice(0, index).split("\n").length,
    text: `a comment that begins with "${first}": say who does what`,
  }))
  // One search of the whole text spares nearly every file the look at its lines.
  if (anyPrivateWord.test(text))
    for (const [at, line] of text.split("\n").entries()) found.push(...inLine(line, at + 1))
  return found
}

function inLine(line: string, number: number): Complaint[] {
  return privateWords.flatMap(([word, instead]) => {
    const found = word.exec(line)
    return found === null ? [] : [{ line: number, text: `"${found[0]}": ${instead}` }]
  })
}

/** Code, headings and tables have no sentences. */
function inPage(text: string): Complaint[] {
  const found: Complaint[] = []
  let isCode = false
  let paragraph: string[] = []
  let start = 1
  const endParagraph = (): void => {
    for (const sentence of paragraph.join(" ").split(/(?<=[.!?]\)?)\s+/)) {
      const count = sentence.split(/\s+/).filter((word) => /\w/.test(word)).length
      if (count <= maxWords) continue
      found.push({
        line: start,
        text: `a sentence of ${count} words (at most ${maxWords}): ${sentence.slice(0, 60)}…`,
      })
    }
    paragraph = []
  }
  for (const [at, line] of text.split("\n").entries()) {
    const isFence = /^\s*(?:```|~~~)/.test(line)
    if (isFence) isCode = !isCode
    if (isFence || isCode) {
      endParagraph()
      continue
    }
    // Code counts as one word.
    const prose = line.replaceAll(/`[^`]*`/g, "code").trim()
    found.push(...inLine(prose, at + 1))
    if (prose === "" || /^(?:[-*#|>]|\d+\.)/.test(prose)) endParagraph()
    if (prose === "" || /^[#|]/.test(prose)) continue
    if (paragraph.length === 0) start = at + 1
    paragraph.push(prose)
  }
  endParagraph()
  return found
}
