import type { ComponentChildren } from "preact"
import { Fragment } from "preact"
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { Icon } from "./icon.tsx"

export interface MenuItem {
  readonly label: string
  readonly detail?: string
  readonly checked?: boolean
  /** The group that it belongs to; items of a group follow each other. */
  readonly heading?: string
  readonly onSelect: () => void
}

interface MenuProps {
  readonly label: string
  readonly children: ComponentChildren
  readonly items: readonly MenuItem[]
  readonly align?: "start" | "end"
  /** Called when it opens. */
  readonly onOpen?: () => void
  /** The label of a field that narrows the list; absent for a short one. */
  readonly search?: string
}

/** Moves a list that opened beyond the edge of the page back into it. */
export function keepWithin(list: HTMLElement): void {
  list.style.translate = ""
  const { left, right, top, bottom } = list.getBoundingClientRect()
  // Not the window's own sizes: on a telephone these grow with what is beyond the edge.
  const { clientWidth, clientHeight } = document.documentElement
  const x = Math.max(8 - left, Math.min(0, clientWidth - 8 - right))
  const y = Math.max(8 - top, Math.min(0, clientHeight - 8 - bottom))
  if (x !== 0 || y !== 0) list.style.translate = `${x}px ${y}px`
}

/** A button that opens a list of commands; arrows move in it, Escape and a click elsewhere close it. */
export function Menu({ label, children, items, align = "start", onOpen, search }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState("")
  const wanted = text.trim().toLowerCase()
  const found = items.filter(({ label: name, detail = "" }) => `${name} ${detail}`.toLowerCase().includes(wanted))
  const box = useRef<HTMLDivElement>(null)
  const entries = (): HTMLElement[] => [...(box.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])]
  const close = (): void => {
    setOpen(false)
    box.current?.querySelector("button")?.focus()
  }

  // Before the next key is handled.
  useLayoutEffect(() => {
    if (!isOpen) return undefined
    const [first] = entries()
    const checked = box.current?.querySelector<HTMLElement>("[aria-checked=true]")
    ;(checked ?? first)?.focus()
    const list = box.current?.querySelector<HTMLElement>(".menu-list")
    // Again when what has been loaded makes it wider.
    const watch = new ResizeObserver(() => list && keepWithin(list))
    if (list) {
      keepWithin(list)
      watch.observe(list)
    }
    const outside = (event: PointerEvent): void => {
      if (event.target instanceof Node && box.current?.contains(event.target) !== true) setOpen(false)
    }
    document.addEventListener("pointerdown", outside)
    return () => {
      watch.disconnect()
      document.removeEventListener("pointerdown", outside)
    }
  }, [isOpen])

  const move = (event: KeyboardEvent): void => {
    if (!isOpen) return
    const all = entries()
    const at = all.findIndex((entry) => entry === document.activeElement)
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }
    const to = steps[event.key]
    if (to !== undefined) all[(to + all.length) % all.length]?.focus()
    else if (event.key === "Escape") close()
    else if (event.key === "Tab") setOpen(false)
    else if (event.key === "Enter" && at < 0) all[0]?.click()
    else return
    if (event.key !== "Tab") event.preventDefault()
  }

  return (
    <div class="menu" ref={box} onKeyDown={move}>
      <button
        type="button"
        class="button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        onClick={() => {
          setText("")
          if (!isOpen) onOpen?.()
          setOpen(!isOpen)
        }}
      >
        {children}
        <Icon name="down" />
      </button>
      {isOpen ? (
        <div class={`menu-list ${align}`}>
          {search === undefined ? null : (
            <input
              type="search"
              class="field"
              aria-label={search}
              placeholder={search}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
          {found.length === 0 ? <p class="note">Nothing has these words.</p> : null}
          <div role="menu" aria-label={label}>
            {found.map(({ label: name, heading, detail, checked, onSelect }, position) => (
              <Fragment key={`${heading ?? ""} ${name}`}>
                {heading === undefined || heading === found[position - 1]?.heading ? null : (
                  <p class="menu-heading" role="presentation">
                    {heading}
                  </p>
                )}
                <button
                  type="button"
                  role={checked === undefined ? "menuitem" : "menuitemradio"}
                  {...(checked === undefined ? {} : { "aria-checked": checked })}
                  tabIndex={-1}
                  onClick={() => {
                    close()
                    onSelect()
                  }}
                >
                  <span>{name}</span>
                  {detail === undefined ? null : <small>{detail}</small>}
                </button>
              </Fragment>
            ))}
          </div>
        </div>
      ) : null}
    </div>
  )
}
