/** The first rows of a CSV text, as RFC 4180 has it; null where quotes are not in pairs. Cells may be any text. */
export function csvRows(text: string, most: number): string[][] | null {
  const rows: string[][] = []
  let row: string[] = []
  let at = text.startsWith("\uFEFF") ? 1 : 0
  while (at < text.length && rows.length < most) {
    let cell = ""
    if (text[at] === '"') {
      at++
      for (;;) {
        const end = text.indexOf('"', at)
        if (end < 0) return null
        cell += text.slice(at, end)
        at = end + 1
        if (text[at] !== '"') break
        cell += '"'
        at++
      }
    } else {
      const from = at
      while (at < text.length && text[at] !== "," && text[at] !== "\n" && text[at] !== "\r") at++
      cell = text.slice(from, at)
    }
    row.push(cell)
    if (text[at] === ",") {
      at++
      if (at < text.length) continue
      row.push("")
    }
    if (at < text.length && text[at] !== "\n" && text[at] !== "\r") return null
    if (text[at] === "\r") at++
    if (text[at] === "\n") at++
    rows.push(row)
    row = []
  }
  return rows
}
