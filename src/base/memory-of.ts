/** What V8 takes for an array or object, and for a place in one, rounded. */
const perContainer = 48
const perElement = 16

/**
 * About how many bytes of memory a value takes that is plain data. Counts its characters, and something for every array,
 * object and element.
 */
export function memoryOf(value: unknown): number {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null) return 0
  let bytes = perContainer
  if (Array.isArray(value)) {
    for (const item of value) bytes += perElement + memoryOf(item)
    return bytes
  }
  for (const key in value) bytes += perElement + key.length + memoryOf((value as Record<string, unknown>)[key])
  return bytes
}
