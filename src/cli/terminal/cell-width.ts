/** How many cells a terminal gives a text: two for East Asian wide characters and emoji, none for marks that combine. */
export function cellWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  graphemes ??= new Intl.Segmenter("en", { granularity: "grapheme" })
  for (const { segment } of graphemes.segment(text)) width += isWide(segment) ? 2 : isMark(segment) ? 0 : 1
  return width
}

/** Made when it is first needed: that takes longer than loading all other parts of a command. */
let graphemes: Intl.Segmenter | undefined

function isWide(grapheme: string): boolean {
  return /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(
    grapheme,
  )
}

function isMark(grapheme: string): boolean {
  return /^[\p{Mn}\p{Me}\u200b-\u200d]+$/u.test(grapheme)
}
