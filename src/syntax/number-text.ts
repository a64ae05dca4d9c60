/**
 * Where a number ends that begins at a digit, or at a minus before one. Letters that touch it belong to it: `2fa` may be part
 * of a remote name, and where a number is needed the parser reports that it is not a number.
 */
export function endOfNumber(text: string, start: number): number {
  number.lastIndex = start
  number.test(text)
  return number.lastIndex
}

/** Digits have `_` between them only: elsewhere it is left over, and the text is not a number. */
const number = /-?\d+(?:_\d+)*(?:\.\d+(?:_\d+)*)?(?:[eE][+-]?\d+(?:_\d+)*)?\w*/y

/** The value of a number as it is written; undefined for what only begins like one (`2fa`, `1_`). */
export function numberValue(written: string): number | undefined {
  const value = Number(written.includes("_") ? written.replace(/(\d)_(?=\d)/g, "$1") : written)
  // A number of another base has a letter after its first digit: `0x1F`.
  return Number.isNaN(value) || (written.length > 2 && /^-?0[bBoOxX]/.test(written)) ? undefined : value
}
