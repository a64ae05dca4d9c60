const longest = 40

/** `a → b → a`; of a very long circle both ends. */
export function formatCycle(names: readonly string[]): string {
  if (names.length <= longest) return names.join(" → ")
  const half = longest / 2
  const left = `(${names.length - longest} more)`
  return [...names.slice(0, half), left, ...names.slice(-half)].join(" → ")
}
