/** Where the line begins that a place of the text is in. */
export function lineStart(text: string, at: number): number {
  while (at > 0 && !isLineBreak(text.charCodeAt(at - 1))) at--
  return at
}

/** How many blanks a line begins with. */
export function indentation(text: string, lineStart: number): number {
  let at = lineStart
  while (text.charCodeAt(at) === 32 || text.charCodeAt(at) === 9) at++
  return at - lineStart
}

export function isLineBreak(unit: number): boolean {
  return unit === 10 || unit === 13
}
