/** Bytes of the longest source that is read. */
export const maxSourceBytes = 1024 * 1024
