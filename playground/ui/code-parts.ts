/** The parts of a sentence that has code between backticks: text and code in turns, text first. Without pairs it is all text. */
export function codeParts(sentence: string): readonly string[] {
  const parts = sentence.split("`")
  return parts.length % 2 === 1 ? parts : [sentence]
}

/** The sentence where code cannot look like code: without its backticks. */
export function withoutBackticks(sentence: string): string {
  return codeParts(sentence).join("")
}
