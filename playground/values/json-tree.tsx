import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import type { JsonValue } from "../../src/base/json-value.ts"
import { isFileValue } from "../../src/types/file-value.ts"
import { Icon } from "../ui/icon.tsx"
import { counted } from "../ui/show.ts"
import { VisibleText } from "../ui/visible-text.tsx"
import { StoredFile } from "./stored-file.tsx"

/** How many members of an array or object are shown before a button asks for more. */
const page = 100
/** A longer string is cut until it is asked for. */
const longest = 2_000

interface JsonTreeProps {
  readonly value: JsonValue
  readonly label: string
  /** Levels that are open at first. */
  readonly open?: number
  /** How a text is shown where it says more than its characters; null for one that does not. */
  readonly view?: TextView
}

export type TextView = (text: string) => ComponentChildren

/** A JSON value as a tree; branches are made when they are opened, so that a large value costs nothing before. */
export function JsonTree({ value, label, open = 2, view }: JsonTreeProps) {
  return (
    <ul class="json-tree" aria-label={label}>
      <Branch name={undefined} value={value} open={open} view={view} />
    </ul>
  )
}

interface BranchProps {
  readonly name: string | undefined
  readonly value: JsonValue
  readonly open: number
  readonly view: TextView | undefined
}

function Branch({ name, value, open, view }: BranchProps) {
  const [isOpen, setOpen] = useState(open > 0)
  const [shown, setShown] = useState(page)
  if (isFileValue(value)) {
    return (
      <li>
        <span class="leaf">
          <Key name={name} />
          <StoredFile file={value} isSmall />
        </span>
      </li>
    )
  }
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) {
    return (
      <li>
        <span class="leaf">
          <Key name={name} />
          <Leaf value={value} view={view} />
        </span>
      </li>
    )
  }
  const isArray = Array.isArray(value)
  const entries: [string, JsonValue][] = isArray
    ? value.slice(0, shown).map((item, at): [string, JsonValue] => [String(at), item])
    : Object.entries(value).slice(0, shown)
  const size = isArray ? value.length : Object.keys(value).length
  const summary = isArray ? `[ ${counted(size, "item")} ]` : `{ ${counted(size, "field")} }`
  return (
    <li>
      <button type="button" class="branch" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "down" : "right"} />
        <Key name={name} />
        <span class="summary">{summary}</span>
      </button>
      {isOpen ? (
        <ul>
          {entries.map(([key, item]) => (
            <Branch key={key} name={key} value={item} open={open - 1} view={view} />
          ))}
          {size > shown ? (
            <li>
              <button type="button" class="button" onClick={() => setShown(shown + page * 10)}>
                Show more of {counted(size, "entry", "entries")}
              </button>
            </li>
          ) : null}
        </ul>
      ) : null}
    </li>
  )
}

function Key({ name }: { readonly name: string | undefined }) {
  return name === undefined ? null : (
    <span class="key">
      <VisibleText text={name} />:{" "}
    </span>
  )
}

/** Texts that would be taken for another value without quotes. */
function readsAsOther(text: string): boolean {
  return text.trim() === "" || /^(?:true|false|null|-?\d[\d.eE+-]*)$/.test(text)
}

function Leaf({ value, view }: { readonly value: JsonValue; readonly view: TextView | undefined }) {
  const [whole, setWhole] = useState(false)
  if (typeof value === "object" && value !== null)
    return <span class="summary">{Array.isArray(value) ? "[ ]" : "{ }"}</span>
  if (typeof value !== "string") return <span class={value === null ? "null" : typeof value}>{String(value)}</span>
  const cut = !whole && value.length > longest
  const seen = cut ? null : (view?.(value) ?? null)
  if (seen !== null) return <span class="string">{seen}</span>
  return (
    <span class="string">
      <VisibleText text={cut ? value.slice(0, longest) : readsAsOther(value) ? JSON.stringify(value) : value} />
      {cut ? (
        <button type="button" class="button" onClick={() => setWhole(true)}>
          … all {counted(value.length, "character")}
        </button>
      ) : null}
    </span>
  )
}
