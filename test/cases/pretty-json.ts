/** Like `JSON.stringify` with two spaces, but what fits in 100 columns stays on one line. */
export function prettyJson(value: unknown, indent = ""): string {
  const flat = onOneLine(value)
  if (indent.length + flat.length <= 100 || typeof value !== "object" || value === null) return flat
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    return `[\n${value.map((item) => inner + prettyJson(item, inner)).join(",\n")}\n${indent}]`
  }
  const entries = Object.entries(value).map(
    ([key, item]) => `${inner}${JSON.stringify(key)}: ${prettyJson(item, inner)}`,
  )
  return `{\n${entries.join(",\n")}\n${indent}}`
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${onOneLine(item)}`)
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`
}
