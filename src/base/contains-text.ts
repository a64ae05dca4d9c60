/** Up to this length the built-in search is linear. For longer texts it compares all of `wanted` at every place. */
const short = 64

/**
 * Whether a text contains another, in time linear in both (Knuth, Morris and Pratt). `holder.includes(wanted)` takes their
 * product: minutes for a megabyte of `a` in which `ab` and a megabyte of `a` is searched.
 */
export function containsText(holder: string, wanted: string): boolean {
  if (wanted.length <= short || wanted.length >= holder.length) return holder.includes(wanted)
  return search(holder, wanted).next().done !== true
}

/** Where a text occurs in another, one place after the other, in time linear in both; no occurrence begins inside another. */
export function* occurrences(holder: string, wanted: string): Generator<number, void, undefined> {
  if (wanted.length > short && wanted.length < holder.length) yield* search(holder, wanted)
  else for (let at = holder.indexOf(wanted); at >= 0; at = holder.indexOf(wanted, at + wanted.length)) yield at
}

function* search(holder: string, wanted: string): Generator<number, void, undefined> {
  const borders = bordersOf(wanted)
  let matched = 0
  for (let at = 0; at < holder.length; at++) {
    const unit = holder.charCodeAt(at)
    while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0
    if (wanted.charCodeAt(matched) === unit) matched++
    if (matched < wanted.length) continue
    yield at + 1 - wanted.length
    matched = 0
  }
}

/** For each prefix, the length of the longest shorter prefix that it ends with. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length)
  let length = 0
  for (let at = 1; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (length > 0 && text.charCodeAt(length) !== unit) length = borders[length - 1] ?? 0
    if (text.charCodeAt(length) === unit) length++
    borders[at] = length
  }
  return borders
}
