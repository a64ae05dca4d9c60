const used = 6

/** The first bytes of a hash as a number from 0 to below 1. */
export function fraction(hash: Uint8Array): number {
  return hash.subarray(0, used).reduce((sum, byte) => sum * 256 + byte, 0) / 256 ** used
}
