/** Orders two texts by their code points: `<` would order UTF-16 code units, which differs beyond U+D7FF. */
export function compareCodePoints(one: string, other: string): number {
  const most = Math.min(one.length, other.length)
  let at = 0
  while (at < most && one.charCodeAt(at) === other.charCodeAt(at)) at++
  if (at === most) return one.length - other.length
  // Inside of a pair, the code points of the pairs differ.
  if (at > 0 && isHigh(one.charCodeAt(at - 1)) && (isLow(one.charCodeAt(at)) || isLow(other.charCodeAt(at)))) at--
  return (one.codePointAt(at) ?? 0) - (other.codePointAt(at) ?? 0)
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}
