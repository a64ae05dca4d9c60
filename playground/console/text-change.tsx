import { diffList } from "../../src/base/diff-list.ts"

export interface TextLine {
  readonly mark: "+" | "−" | " " | "…"
  readonly text: string
}

/** Lines that are the same beside those that differ. */
const around = 2

export function changedLines(before: readonly string[], after: readonly string[]): TextLine[] {
  const all = diffList(before, after)
  const isNear = (at: number): boolean =>
    all.slice(Math.max(0, at - around), at + around + 1).some(({ change }) => change !== "same")
  const lines: TextLine[] = []
  for (const [at, { change, item }] of all.entries()) {
    if (isNear(at)) lines.push({ mark: change === "added" ? "+" : change === "removed" ? "−" : " ", text: item })
    else if (lines.at(-1)?.mark !== "…") lines.push({ mark: "…", text: "" })
  }
  return lines
}

export function TextChange({ label, lines }: { readonly label: string; readonly lines: readonly TextLine[] }) {
  return (
    <pre class="mono" aria-label={label}>
      {lines.map(({ mark, text }) => `${mark} ${text}`).join("\n")}
    </pre>
  )
}
