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
