/** `1,234,567`. Node takes longer to load what `toLocaleString` needs than most commands take for everything else. */
export function groupDigits(whole: number): string {
  if (whole < 0) return `-${groupDigits(-whole)}`
  const digits = String(whole)
  const groups: string[] = []
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end))
  return groups.join(",")
}
