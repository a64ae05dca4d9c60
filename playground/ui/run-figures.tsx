import { costNumber, showDuration, showNumber } from "./show.ts"

/** The heads of the columns that `RunFigures` fills. */
export function RunFigureHeads() {
  return ["Time", "Tokens", "Cost"].map((head) => (
    <th key={head} scope="col" class="figure">
      {head}
    </th>
  ))
}

interface RunFiguresProps {
  /** Null while the run is under way. */
  readonly duration_ms: number | null
  readonly tokens: number
  readonly cost: number | null | undefined
}

/** What a run took, in a row of a table. */
export function RunFigures({ duration_ms, tokens, cost }: RunFiguresProps) {
  return (
    <>
      <td class="figure">{duration_ms === null ? "" : showDuration(duration_ms)}</td>
      <td class="figure">{showNumber(tokens)}</td>
      <td class="figure">{cost === null || cost === undefined ? "" : costNumber(cost)}</td>
    </>
  )
}
