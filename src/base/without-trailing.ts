/**
 * The text without those characters at its end. A regular expression such as `/\/+$/` would look for the end from each
 * character, which takes the square of the time.
 */
export function withoutTrailing(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] ?? "")) end--
  return text.slice(0, end)
}
