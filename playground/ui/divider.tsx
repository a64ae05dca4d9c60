interface DividerProps {
  readonly label: string
  readonly direction: "columns" | "rows"
  /** In percent of the container. */
  readonly value: number
  readonly onMove: (percent: number) => void
  readonly onReset: () => void
}

/** Between two parts of its container: dragged, or moved with the arrows; a double click or Enter puts it back. */
export function Divider({ label, direction, value, onMove, onReset }: DividerProps) {
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
      onMove(share * 100)
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
    if (event.key === less) onMove(value - 2)
    else if (event.key === more) onMove(value + 2)
    else if (event.key === "Home") onMove(10)
    else if (event.key === "End") onMove(90)
    else if (event.key === "Enter") onReset()
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
      aria-valuenow={Math.round(value)}
      aria-valuemin={10}
      aria-valuemax={90}
      onPointerDown={drag}
      onDblClick={onReset}
      onKeyDown={key}
    />
  )
}
