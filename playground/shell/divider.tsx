import type { DividerName } from "../state/layout.ts"
import { moveDivider, positions, resetDivider } from "../state/layout.ts"
import { Divider as AnyDivider } from "../ui/divider.tsx"

interface DividerProps {
  readonly name: DividerName
  readonly label: string
  readonly direction: "columns" | "rows"
}

/** Between two panes; where it was put is remembered. */
export function Divider({ name, label, direction }: DividerProps) {
  return (
    <AnyDivider
      label={label}
      direction={direction}
      value={positions.value[name]}
      onMove={(percent) => moveDivider(name, percent)}
      onReset={() => resetDivider(name)}
    />
  )
}
