import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { Menu } from "./menu.tsx"

export interface TabItem<Name extends string> {
  readonly name: Name
  readonly label: string
  readonly count?: number | undefined
  /** The count is of problems to fix. */
  readonly wrong?: boolean
  /** It has changes that are not kept elsewhere. */
  readonly isEdited?: boolean
}

interface TabsProps<Name extends string> {
  readonly label: string
  readonly id: string
  readonly items: readonly TabItem<Name>[]
  readonly current: Name
  readonly onSelect: (name: Name) => void
  /** A double click on the current tab, or F2. */
  readonly onRename?: () => void
  readonly tools?: ComponentChildren
}

/** A row of tabs; arrows, Home and End move between them. The panel of each is `{id}-{name}-panel`. */
export function Tabs<Name extends string>({ label, id, items, current, onSelect, onRename, tools }: TabsProps<Name>) {
  const move = (event: KeyboardEvent): void => {
    if (event.key === "F2") onRename?.()
    const at = items.findIndex(({ name }) => name === current)
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: items.length - 1 }
    const to = steps[event.key]
    if (to === undefined) return
    const next = items[(to + items.length) % items.length]
    if (next === undefined) return
    event.preventDefault()
    onSelect(next.name)
    document.getElementById(`${id}-${next.name}-tab`)?.focus()
  }
  const list = useRef<HTMLDivElement>(null)
  const [isCut, setCut] = useState(false)
  useLayoutEffect(() => keepInView(list.current, setCut), [current, items.length])
  return (
    <div class="tabs">
      <div ref={list} role="tablist" aria-label={label} onKeyDown={move}>
        {items.map(({ name, label: text, count, wrong, isEdited }) => (
          <button
            key={name}
            type="button"
            role="tab"
            class="tab"
            id={`${id}-${name}-tab`}
            aria-selected={name === current}
            aria-controls={`${id}-${name}-panel`}
            tabIndex={name === current ? 0 : -1}
            onClick={() => onSelect(name)}
            onDblClick={onRename}
          >
            {text}
            {isEdited === true ? (
              <span class="edited">
                <span class="visually-hidden">, edited</span>
              </span>
            ) : null}
            {count === undefined || count === 0 ? null : (
              <span class={wrong === true ? "count wrong" : "count"}>{count}</span>
            )}
          </button>
        ))}
      </div>
      {isCut ? (
        <Menu
          label={`All of ${label.toLowerCase()}`}
          align="end"
          items={items.map(({ name, label: text }) => ({
            label: text,
            checked: name === current,
            onSelect: () => onSelect(name),
          }))}
        >
          <span aria-hidden="true">…</span>
        </Menu>
      ) : null}
      {tools === undefined ? null : <div class="tools">{tools}</div>}
    </div>
  )
}

/**
 * Shows the row with the current tab, and reports whether one row has room for all tabs: now, and when the row gets another width, as where
 * its pane is shown again.
 */
function keepInView(list: HTMLElement | null, report: (isCut: boolean) => void): (() => void) | undefined {
  if (list === null) return undefined
  const observer = new ResizeObserver(() => {
    const tabs = [...list.querySelectorAll<HTMLElement>('[role="tab"]')]
    const needed = tabs.reduce((sum, one) => sum + one.getBoundingClientRect().width, 0)
    // By the whole width, so that the menu of the other tabs is not a reason for itself.
    report(needed > (list.parentElement?.clientWidth ?? 0) - toolsWidth(list) + 1)
    list.scrollTop = list.querySelector<HTMLElement>('[aria-selected="true"]')?.offsetTop ?? 0
  })
  observer.observe(list)
  return () => observer.disconnect()
}

/** Pixels of the row that are not for its tabs: its edges, and its tools. */
function toolsWidth(list: HTMLElement): number {
  const row = list.parentElement
  if (row === null) return 0
  const { paddingLeft, paddingRight } = getComputedStyle(row)
  const tools = row.querySelector<HTMLElement>(":scope > .tools")?.offsetWidth ?? 0
  return parseFloat(paddingLeft) + parseFloat(paddingRight) + tools
}

interface PanelProps {
  readonly id: string
  readonly name: string
  readonly class?: string
  readonly children: ComponentChildren
}

export function TabPanel({ id, name, class: className, children }: PanelProps) {
  return (
    <div
      role="tabpanel"
      id={`${id}-${name}-panel`}
      aria-labelledby={`${id}-${name}-tab`}
      class={className === undefined ? "panel" : `panel ${className}`}
      tabIndex={-1}
    >
      {children}
    </div>
  )
}
