const units = ["KiB", "MiB", "GiB", "TiB"]

/** `34 bytes`, `1.2 KiB`, `40 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? "1 byte" : `${bytes} bytes`
  let size = bytes / 1024
  let at = 0
  // What would be shown as 1024 is one of the next unit.
  while (size >= 1023.5 && at < units.length - 1) {
    size /= 1024
    at++
  }
  return `${size < 9.95 ? size.toFixed(1) : String(Math.round(size))} ${units[at] ?? ""}`
}
