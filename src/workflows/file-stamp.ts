import { statSync } from "node:fs"

/** Changes whenever the file may have changed. */
export function stampOf(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs, mode } = statSync(file)
    return `${ino} ${size} ${mtimeMs} ${ctimeMs} ${mode}`
  } catch {
    return "missing"
  }
}
