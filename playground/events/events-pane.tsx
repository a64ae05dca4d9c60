import { signal } from "@preact/signals"
import { useMemo, useState } from "preact/hooks"
import type { JsonValue } from "../../src/base/json-value.ts"
import type { StreamEvent } from "../../src/client/client.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { watchWhole } from "../shown-run/shown-run.ts"
import { copyText } from "../share/copy.ts"
import { select } from "../shown-run/selection.ts"
import { Icon } from "../ui/icon.tsx"
import { JsonTree } from "../values/json-tree.tsx"
import { counted, showDuration, showNumber } from "../ui/show.ts"
import { VirtualList } from "../ui/virtual-list.tsx"
import { eventText, filterWords, isWithin, matches, stepOf, subjectOf } from "./event-text.ts"

const filter = signal("")
/** The call whose events are listed; empty for those of the workflow itself, null for all. */
const eventScope = signal<string | null>(null)
/** A list of more would not be read; the filter finds the others. */
const maxScopes = 500
/** Whether the chunks of text are listed too, which are most of the events of a run and each say little. */
const withDeltas = signal(false)

/** The raw stream: every event with its id, to be searched and copied. */
export function EventsPane() {
  const run = watchWhole()
  if (run === null) {
    return <p class="empty">The events of a run are listed here as they come. Press Run to see some.</p>
  }
  return <EventList key={run.asked_at} run={run} />
}

function EventList({ run }: { readonly run: RunView }) {
  watchWhole()
  const [chosen, setChosen] = useState<number | undefined>(undefined)
  const words = filterWords(filter.value)
  const { deltas } = run
  const all = withDeltas.value || deltas === 0 ? run.events : run.events.filter(({ type }) => type !== "agent_delta")
  const scopes = Object.keys(run.state.inside ?? {})
  const scope =
    eventScope.value !== null && (eventScope.value === "" || scopes.includes(eventScope.value))
      ? eventScope.value
      : null
  const scoped = scope === null ? all : all.filter((event) => isWithin(event, scope))
  const events = words.length === 0 ? scoped : scoped.filter((event) => matches(event, words))
  const current = events.find(({ id }) => id === chosen)
  const position = current === undefined ? -1 : events.indexOf(current)
  // Once for each choice: who scrolls away from it stays away.
  const reveal = useMemo(() => (position < 0 ? undefined : { at: position }), [chosen])
  const choose = (event: StreamEvent | undefined): void => {
    setChosen(event?.id)
    const step = event === undefined ? null : stepOf(event, run.state)
    if (step !== null) select(step)
  }
  const key = (event: KeyboardEvent): void => {
    const to: Record<string, number> = {
      ArrowDown: Math.min(events.length - 1, position + 1),
      ArrowUp: Math.max(0, position - 1),
      Home: 0,
      End: events.length - 1,
    }
    const next = to[event.key]
    if (next === undefined) return
    event.preventDefault()
    choose(events[next])
  }
  return (
    <div class="column">
      <div class="toolbar">
        <label class="visually-hidden" for="event-filter">
          Filter events
        </label>
        <input
          id="event-filter"
          class="field"
          type="search"
          placeholder="Filter: type, agent, any text"
          value={filter.value}
          onInput={(event) => (filter.value = event.currentTarget.value)}
        />
        {scopes.length === 0 ? null : (
          <select
            class="field"
            aria-label="Events of"
            value={scope === null ? "*" : scope}
            onChange={({ currentTarget }) =>
              (eventScope.value = currentTarget.value === "*" ? null : currentTarget.value)
            }
          >
            <option value="*">all calls</option>
            <option value="">this workflow</option>
            {scopes.slice(0, maxScopes).map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        )}
        <span class="note" role="status">
          {words.length === 0 && scope === null
            ? counted(events.length, "event")
            : `${showNumber(events.length)} of ${counted(all.length, "event")}`}
        </span>
        <span class="tools">
          {deltas === 0 ? null : (
            <button
              type="button"
              class="button"
              aria-pressed={withDeltas.value}
              title="agent_delta: the text of answers, chunk by chunk"
              onClick={() => (withDeltas.value = !withDeltas.value)}
            >
              {counted(deltas, "text chunk")}
            </button>
          )}
          <button
            type="button"
            class="button"
            disabled={events.length === 0}
            onClick={() => void copyText(events.map(eventText).join("\n"), counted(events.length, "event"))}
          >
            <Icon name="copy" />
            Copy
          </button>
        </span>
      </div>
      {events.length === 0 ? (
        <p class="empty">{words.length === 0 ? "No event has come yet." : "No event matches. Use fewer words."}</p>
      ) : (
        <VirtualList
          class="events"
          role="listbox"
          label="Events"
          count={events.length}
          rowHeight={24}
          follow={!run.isOver && chosen === undefined}
          reveal={reveal}
          active={current === undefined ? undefined : `event-${current.id}`}
          onKeyDown={key}
          row={(at) => {
            const event = events[at]
            return event === undefined ? null : (
              <EventRow
                key={event.id}
                run={run}
                event={event}
                isSelected={event === current}
                onSelect={() => choose(event)}
              />
            )
          }}
        />
      )}
      {current === undefined ? null : (
        <div class="event-detail scrolls padded" tabIndex={0} role="region" aria-label={`Event ${current.id}`}>
          <JsonTree
            key={current.id}
            value={current.data as unknown as JsonValue}
            label={`Data of event ${current.id}`}
          />
        </div>
      )}
    </div>
  )
}

interface EventRowProps {
  readonly run: RunView
  readonly event: StreamEvent
  readonly isSelected: boolean
  readonly onSelect: () => void
}

function EventRow({ run, event, isSelected, onSelect }: EventRowProps) {
  const { started_at } = run.state
  const at = event.data.at === undefined || started_at === null ? 0 : Date.parse(event.data.at) - started_at
  return (
    <div
      role="option"
      id={`event-${event.id}`}
      class={`event-row type-${event.type}`}
      aria-selected={isSelected}
      onClick={onSelect}
    >
      <span class="event-id">{event.id}</span>
      <span class="event-at">+{showDuration(at)}</span>
      <span class="event-type">{event.type}</span>
      <span class="event-subject">{subjectOf(event)}</span>
    </div>
  )
}
