import type { ComponentChildren } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"

interface VirtualListProps {
  readonly count: number
  readonly rowHeight: number
  /** Renders a row; called only for rows near the view. */
  readonly row: (at: number) => ComponentChildren
  /** Stay at the end as rows are added, as long as the reader is there. */
  readonly follow?: boolean
  /** A row to bring into view; a new object brings it there again. */
  readonly reveal?: { readonly at: number } | undefined
  readonly role: string
  readonly label: string
  readonly active?: string | undefined
  readonly onKeyDown?: (event: KeyboardEvent) => void
  readonly class?: string
}

const beyond = 8
const followEvery = 200

/** A list of any length that renders only its visible rows. */
export function VirtualList(props: VirtualListProps) {
  const { count, rowHeight, row, follow, reveal, role, label, active, onKeyDown, class: className } = props
  const box = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  const [view, setView] = useState({ top: 0, height: 600 })

  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const measure = (): void => setView({ top: element.scrollTop, height: element.clientHeight })
    const watch = new ResizeObserver(measure)
    watch.observe(element)
    measure()
    return () => watch.disconnect()
  }, [])

  // To scroll is to lay out the page at once, which costs more than to draw the rows: a few times a second will do.
  const pending = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    if (follow !== true || !atEnd.current || pending.current !== undefined) return
    pending.current = setTimeout(() => {
      pending.current = undefined
      const element = box.current
      if (element !== null && atEnd.current) element.scrollTop = element.scrollHeight
    }, followEvery)
  }, [count, follow])
  useEffect(() => () => clearTimeout(pending.current), [])

  useLayoutEffect(() => {
    const element = box.current
    if (element === null || reveal === undefined) return
    clearTimeout(pending.current)
    pending.current = undefined
    const top = reveal.at * rowHeight
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + rowHeight - element.clientHeight
    }
  }, [reveal, rowHeight])

  const scrolled = (): void => {
    const element = box.current
    if (element === null) return
    atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - rowHeight
    setView({ top: element.scrollTop, height: element.clientHeight })
  }

  const first = Math.max(0, Math.floor(view.top / rowHeight) - beyond)
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + beyond)
  const rows: ComponentChildren[] = []
  for (let at = first; at < last; at++) rows.push(row(at))
  return (
    <div
      ref={box}
      class={className === undefined ? "virtual" : `virtual ${className}`}
      role={role as "tree"}
      aria-label={label}
      aria-activedescendant={active}
      tabIndex={0}
      onScroll={scrolled}
      onKeyDown={onKeyDown}
    >
      <div class="virtual-all" role="presentation" style={{ height: `${count * rowHeight}px` }}>
        <div class="virtual-rows" role="presentation" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  )
}
