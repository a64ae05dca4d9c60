import type { DividerName } from "../state/layout.ts"
import { moveDivider, positions, resetDivider } from "../state/layout.ts"

interface DividerProps {
  readonly name: DividerName
  readonly label: string
  readonly direction: "columns" | "rows"
}

/** Between two panes: dragged, or moved with the arrows; a double click or Enter puts it back. */
export function Divider({ name, label, direction }: DividerProps) {
  const drag = (event: PointerEvent): void => {
    const handle = event.currentTarget
    const container = handle instanceof HTMLElement ? handle.parentElement : null
    if (!(handle instanceof HTMLElement) || container === null || event.button !== 0) return
    event.preventDefault()
    handle.setPointerCapture(event.pointerId)
    handle.dataset["dragged"] = ""
    const box = container.getBoundingClientRect()
    const move = ({ clientX, clientY }: PointerEvent): void => {
      const share = direction === "columns" ? (clientX - box.left) / box.width : (clientY - box.top) / box.height
      moveDivider(name, share * 100)
    }
    const end = (): void => {
      delete handle.dataset["dragged"]
      handle.removeEventListener("pointermove", move)
    }
    handle.addEventListener("pointermove", move)
    handle.addEventListener("lostpointercapture", end, { once: true })
  }
  const key = (event: KeyboardEvent): void => {
    const [less, more] = direction === "columns" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"]
    const at = positions.value[name]
    if (event.key === less) moveDivider(name, at - 2)
    else if (event.key === more) moveDivider(name, at + 2)
    else if (event.key === "Home") moveDivider(name, 10)
    else if (event.key === "End") moveDivider(name, 90)
    else if (event.key === "Enter") resetDivider(name)
    else return
    event.preventDefault()
  }
  return (
    <div
      role="separator"
      tabIndex={0}
      class={`divider ${direction}`}
      aria-label={label}
      aria-orientation={direction === "columns" ? "vertical" : "horizontal"}
      aria-valuenow={Math.round(positions.value[name])}
      aria-valuemin={10}
      aria-valuemax={90}
      onPointerDown={drag}
      onDblClick={() => resetDivider(name)}
      onKeyDown={key}
    />
  )
}
