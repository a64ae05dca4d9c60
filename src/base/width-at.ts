/**
 * UTF-16 units of the character at a place. Not by `codePointAt`: compiled by V8 13, it reads beyond the end of a text that
 * is a slice of another one.
 */
export function widthAt(text: string, at: number): 1 | 2 {
  if (at + 1 >= text.length) return 1
  const [unit, next] = [text.charCodeAt(at), text.charCodeAt(at + 1)]
  return unit >= 0xd800 && unit <= 0xdbff && next >= 0xdc00 && next <= 0xdfff ? 2 : 1
}
