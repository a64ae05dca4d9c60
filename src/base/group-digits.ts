/** `1,234,567`. Node takes longer to load what `toLocaleString` needs than most commands take for everything else. */
export function groupDigits(whole: number): string {
  return String(whole).replaceAll(/\B(?=(?:\d{3})+$)/g, ",")
}
