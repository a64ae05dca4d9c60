import type { DividerName } from "../page/layout.ts"
import { moveDivider, positions, resetDivider } from "../page/layout.ts"
import { Divider } from "../ui/divider.tsx"

interface PaneDividerProps {
  readonly name: DividerName
  readonly label: string
  readonly direction: "columns" | "rows"
}

/** Between two panes; where it was put is remembered. */
export function PaneDivider({ name, label, direction }: PaneDividerProps) {
  return (
    <Divider
      label={label}
      direction={direction}
      value={positions.value[name]}
      onMove={(percent) => moveDivider(name, percent)}
      onReset={() => resetDivider(name)}
    />
  )
}
