import { useEffect, useRef, useState } from "preact/hooks"
import { serverWorkflows } from "../service/served.ts"
import { Icon } from "../ui/icon.tsx"
import { Menu } from "../ui/menu.tsx"
import { columns, shownColumns, toggleColumn } from "./columns.ts"
import { changed, goTo, place } from "./place.ts"
import { filterLabels, filterNames, type FilterName } from "./run-query.ts"

/** The search waits until a person stops typing. */
const typingMs = 350

const choices: readonly {
  readonly name: FilterName
  readonly label: string
  readonly values: readonly (readonly [string, string])[]
}[] = [
  {
    name: "status",
    label: "Any status",
    values: [
      ["open", "Under way"],
      ["waiting", "Waiting"],
      ["completed", "Completed"],
      ["failed", "Failed"],
      ["cancelled", "Cancelled"],
    ],
  },
  {
    name: "started_by",
    label: "Started by anything",
    values: [
      ["request", "Started by a request"],
      ["schedule", "Started by a schedule"],
      ["webhook", "Started by a webhook"],
      ["rerun", "Started as a re-run"],
    ],
  },
  {
    name: "since",
    label: "Any time",
    values: [
      ["1h", "Last hour"],
      ["24h", "Last 24 hours"],
      ["7d", "Last 7 days"],
      ["30d", "Last 30 days"],
    ],
  },
]

function set(name: FilterName, value: string | null, replace = false): void {
  goTo("runs", changed({ [name]: value, run: null }), replace)
}

export function RunFilters() {
  const { params } = place.value
  return (
    <div class="console-filters">
      <SearchField />
      {choices.map(({ name, label, values }) => {
        const value = params.get(name) ?? ""
        return (
          <select
            key={name}
            class="field"
            aria-label={filterLabels[name]}
            value={value}
            onChange={(event) => set(name, event.currentTarget.value)}
          >
            <option value="">{label}</option>
            {values.map(([one, text]) => (
              <option key={one} value={one}>
                {text}
              </option>
            ))}
            {value === "" || values.some(([one]) => one === value) ? null : <option value={value}>{value}</option>}
          </select>
        )
      })}
      <WorkflowChoice />
      <MoreFilters />
      <span class="tools">
        <Menu
          label="Columns"
          align="end"
          items={columns.map(({ name, label }) => ({
            label,
            checked: shownColumns.value.includes(name),
            onSelect: () => toggleColumn(name),
          }))}
        >
          Columns
        </Menu>
      </span>
      <Chips />
    </div>
  )
}

function SearchField() {
  const wanted = place.value.params.get("q") ?? ""
  const [text, setText] = useState(wanted)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  // The address may change without the field: a chip is taken away, or the browser goes back.
  useEffect(() => setText(wanted), [wanted])
  const search = (value: string): void => {
    clearTimeout(timer.current)
    if ((place.peek().params.get("q") ?? "") !== value.trim()) set("q", value.trim(), true)
  }
  return (
    <input
      type="search"
      class="field"
      placeholder="Words of input, output, error or id  ( / )"
      aria-label="Search the runs"
      maxLength={200}
      value={text}
      onInput={(event) => {
        const { value } = event.currentTarget
        setText(value)
        clearTimeout(timer.current)
        timer.current = setTimeout(() => search(value), typingMs)
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter") search(text)
        if (event.key === "ArrowDown") document.querySelector<HTMLElement>(".run-table [data-row]")?.focus()
      }}
    />
  )
}

function WorkflowChoice() {
  const value = place.value.params.get("workflow") ?? ""
  const names = serverWorkflows.value.map(({ name }) => name)
  if (names.length === 0 && value === "") return null
  return (
    <select
      class="field"
      aria-label={filterLabels.workflow}
      value={value}
      onChange={(event) => set("workflow", event.currentTarget.value)}
    >
      <option value="">Any workflow</option>
      {[...new Set([...names, ...(value === "" ? [] : [value])])].map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}

const typed: readonly FilterName[] = [
  "score",
  "min_cost",
  "min_seconds",
  "version",
  "release",
  "error_kind",
  "caller",
  "until",
]

/** Examples for filters that take no plain number or name. */
const typedExamples: Partial<Record<FilterName, string>> = {
  score: "helpful:bad",
  release: "candidate",
  error_kind: "timeout",
  until: "2h",
}

/** Filters that are typed, one at a time. */
function MoreFilters() {
  const [name, setName] = useState<FilterName | null>(null)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [name])
  if (name === null) {
    return (
      <Menu
        label="Add a filter"
        items={typed.map((one) => ({ label: filterLabels[one], onSelect: () => setName(one) }))}
      >
        Filter
      </Menu>
    )
  }
  return (
    <form
      class="typed-filter"
      onSubmit={(event) => {
        event.preventDefault()
        const value = field.current?.value.trim() ?? ""
        setName(null)
        if (value !== "") set(name, value)
      }}
    >
      <input
        ref={field}
        class="field"
        aria-label={filterLabels[name]}
        placeholder={name in typedExamples ? `such as ${typedExamples[name]}` : filterLabels[name]}
        onKeyDown={(event) => {
          if (event.key === "Escape") setName(null)
        }}
      />
      <button type="submit" class="button outlined">
        Add
      </button>
    </form>
  )
}

/** Each filter that holds, with a button that takes it away. */
function Chips() {
  const { params } = place.value
  const held = filterNames.flatMap((name) => {
    const value = params.get(name) ?? ""
    return value === "" ? [] : [{ name, value }]
  })
  if (held.length === 0) return null
  return (
    <ul class="chips" aria-label="Filters that hold">
      {held.map(({ name, value }) => (
        <li key={name} class="chip">
          <span>
            {filterLabels[name]}: <strong dir="auto">{value}</strong>
          </span>
          <button
            type="button"
            class="button square"
            aria-label={`Remove the filter ${filterLabels[name]}: ${value}`}
            onClick={() => set(name, null)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
      {held.length < 2 ? null : (
        <li>
          <button type="button" class="button" onClick={() => goTo("runs")}>
            Remove all
          </button>
        </li>
      )}
    </ul>
  )
}
