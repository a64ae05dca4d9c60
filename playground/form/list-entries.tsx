import type { ComponentChildren } from "preact"
import { useRef } from "preact/hooks"
import { childPath } from "../../src/base/child-path.ts"
import type { Draft } from "./draft.ts"
import { Icon } from "../ui/icon.tsx"
import { fieldId } from "./field-id.ts"

type Tool = "up" | "down" | "remove"

let lastKey = 0

interface ListProps {
  readonly path: string
  readonly scope: string | undefined
  readonly items: readonly Draft[]
  readonly onChange: (items: Draft[]) => void
}

interface ListEntries {
  /** What the controls of an entry remember moves with the entry. */
  readonly keys: readonly number[]
  readonly addId: string
  /** The buttons that move and remove an entry. */
  readonly tools: (at: number) => ComponentChildren
}

/** Moves and removes the entries of a list. */
export function useListEntries({ path, scope, items, onChange }: ListProps): ListEntries {
  const keys = useRef<readonly number[]>([])
  keys.current = items.map((_, at) => keys.current[at] ?? ++lastKey)
  const toolId = (at: number, tool: Tool): string => `${fieldId(childPath(path, at), scope)}-${tool}`
  const addId = `${fieldId(path, scope)}-add`
  /** Changes the entries, then focuses the first of the buttons of the entry `at` that can be pressed. */
  const change = (reorder: <T>(entries: readonly T[]) => T[], at: number, ...tools: readonly Tool[]): void => {
    keys.current = reorder(keys.current)
    onChange(reorder(items))
    requestAnimationFrame(() => {
      const buttons = [...tools.map((tool) => toolId(at, tool)), addId].map((id) => document.getElementById(id))
      buttons.find((button) => button?.matches(":enabled"))?.focus()
    })
  }
  const swap = (at: number, other: number, ...tools: readonly Tool[]): void =>
    change((entries) => entries.with(at, entries[other] as never).with(other, entries[at] as never), other, ...tools)
  const tools = (at: number) => (
    <>
      <button
        type="button"
        class="button square"
        id={toolId(at, "up")}
        aria-label={`Move entry ${at + 1} up`}
        disabled={at === 0}
        onClick={() => swap(at, at - 1, "up", "down")}
      >
        <Icon name="earlier" />
      </button>
      <button
        type="button"
        class="button square"
        id={toolId(at, "down")}
        aria-label={`Move entry ${at + 1} down`}
        disabled={at === items.length - 1}
        onClick={() => swap(at, at + 1, "down", "up")}
      >
        <Icon name="later" />
      </button>
      <button
        type="button"
        class="button square"
        id={toolId(at, "remove")}
        aria-label={`Remove entry ${at + 1}`}
        onClick={() => change((all) => all.toSpliced(at, 1), Math.min(at, items.length - 2), "remove")}
      >
        <Icon name="trash" />
      </button>
    </>
  )
  return { keys: keys.current, addId, tools }
}
