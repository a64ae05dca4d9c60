/** The text, or as much of its beginning as leaves room for `…` in `length` units; never half a surrogate pair. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 2)
  const splitsPair = last >= 0xd800 && last <= 0xdbff
  return `${text.slice(0, splitsPair ? length - 2 : length - 1)}…`
}
