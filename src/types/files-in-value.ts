import { isFileValue, type FileValue } from "./file-value.ts"

/** The files in a value that has no type, each once, in the order of the value. */
export function filesInValue(value: unknown): FileValue[] {
  const found = new Map<string, FileValue>()
  // The next value is the last one.
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== "object" || next === null) continue
    if (isFileValue(next)) {
      if (!found.has(next.file_id)) found.set(next.file_id, next)
      continue
    }
    for (const part of Object.values(next).toReversed()) open.push(part)
  }
  return [...found.values()]
}
