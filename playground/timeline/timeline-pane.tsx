import { useMemo, useRef, useState } from "preact/hooks"
import type { Span } from "../../src/run/run-state.ts"
import type { RunView } from "../state/run-view.ts"
import { nodeOfSpan, spanLabel, spanOfNode } from "../state/spans.ts"
import { tokensOf } from "../state/status.ts"
import { spanState } from "../state/step-state.ts"
import { runClock, watchShown } from "../state/runs.ts"
import { select, selection } from "../state/selection.ts"
import type { IconName } from "../ui/icon.tsx"
import { Icon } from "../ui/icon.tsx"
import { showDuration, showNumber } from "../ui/show.ts"
import { stateWords } from "../ui/state-words.ts"
import { VirtualList } from "../ui/virtual-list.tsx"
import type { Row } from "./rows.ts"
import { Rows } from "./rows.ts"
import type { Scale } from "./scale.ts"
import { scaleFor } from "./scale.ts"

const rowHeight = 24

/** The run on one time axis, live. */
export function TimelinePane() {
  const run = watchShown()
  if (run === null) {
    return (
      <p class="empty">
        Nothing has run yet. Press <strong>Run</strong> or <kbd>Ctrl</kbd> <kbd>Enter</kbd>, and every agent, model call
        and tool call draws itself here as it happens.
      </p>
    )
  }
  return <Waterfall key={run.asked_at} run={run} />
}

function Waterfall({ run }: { readonly run: RunView }) {
  watchShown()
  const [, redraw] = useState(0)
  const model = useMemo(() => new Rows(run.state), [run])
  const revealed = useRef<{ key: string; reveal: { at: number } | undefined }>({ key: "", reveal: undefined })
  const { state } = run
  const chosen = selection.value
  const current = chosen === null ? undefined : (chosen.span ?? spanOfNode(state, chosen.node))
  if (current !== undefined && revealed.current.key !== `${current}`) model.uncover(current)
  const rows = model.list()
  const position = current === undefined ? -1 : rows.findIndex(({ at }) => at === current)
  if (revealed.current.key !== `${current ?? ""}`) {
    revealed.current = { key: `${current ?? ""}`, reveal: position < 0 ? undefined : { at: position } }
  }
  const started = state.started_at ?? 0
  const live = !run.isOver && state.started_at !== null
  const now = live ? Math.max(runClock.value, started) : (state.finished_at ?? lastEnd(state.spans, started))
  const scale = scaleFor(now - started, live)

  const choose = (row: Row | undefined): void => {
    if (row === undefined) return
    const node = nodeOfSpan(state, row.at)
    select({ node: node ?? "", span: row.at })
  }
  const toggle = (row: Row): void => {
    model.toggle(row.at)
    redraw((count) => count + 1)
  }
  const key = (event: KeyboardEvent): void => {
    const row = rows[position]
    if (event.key === "ArrowDown") choose(rows[Math.min(rows.length - 1, position + 1)])
    else if (event.key === "ArrowUp") choose(rows[Math.max(0, position - 1)])
    else if (event.key === "Home") choose(rows[0])
    else if (event.key === "End") choose(rows.at(-1))
    else if (event.key === "ArrowRight" && row?.isParent === true && !row.isOpen) toggle(row)
    else if (event.key === "ArrowLeft" && row?.isOpen === true) toggle(row)
    else if (event.key === "ArrowLeft" && row !== undefined) {
      const parent = state.spans[row.at]?.parent
      choose(rows.find(({ at }) => at === parent))
    } else return
    event.preventDefault()
  }

  if (rows.length === 0) {
    return <p class="empty">{run.isOver ? "The run ended before any step began." : "Waiting for the first step …"}</p>
  }
  return (
    <div class="waterfall">
      <div class="axis" aria-hidden="true">
        <span class="axis-name">{showNumber(rows.length)} rows</span>
        <div class="axis-marks">
          {scale.marks.map((at) => (
            <span key={at} style={{ left: `${(at / scale.total) * 100}%` }}>
              {at === 0 ? "0" : showDuration(at).replace(/\.0+ /, " ")}
            </span>
          ))}
        </div>
      </div>
      <VirtualList
        class="bars"
        role="tree"
        label="Timeline"
        count={rows.length}
        rowHeight={rowHeight}
        follow={live && chosen === null}
        reveal={revealed.current.reveal}
        active={position < 0 ? undefined : rowId(current)}
        onKeyDown={key}
        row={(at) => {
          const row = rows[at]
          const span = row === undefined ? undefined : state.spans[row.at]
          return row === undefined || span === undefined ? null : (
            <Bar
              key={row.at}
              row={row}
              span={span}
              started={started}
              now={now}
              scale={scale}
              isSelected={row.at === current}
              onSelect={() => choose(row)}
              onToggle={() => toggle(row)}
            />
          )
        }}
      />
    </div>
  )
}

function lastEnd(spans: readonly Span[], started: number): number {
  return spans.reduce((latest, span) => Math.max(latest, span.end ?? span.start), started)
}

function rowId(at: number | undefined): string | undefined {
  return at === undefined ? undefined : `span-${at}`
}

const kindIcons: Readonly<Record<Span["kind"], IconName>> = {
  agent: "agent",
  ask: "ask",
  loop: "loop",
  iteration: "agent",
  model_call: "model",
  retry: "retried",
  fallback: "retried",
  tool_call: "tool",
  compaction: "compact",
  dynamic: "dynamic",
  resource: "document",
  prompt: "document",
  connection: "plug",
}

interface BarProps {
  readonly row: Row
  readonly span: Span
  readonly started: number
  readonly now: number
  readonly scale: Scale
  readonly isSelected: boolean
  readonly onSelect: () => void
  readonly onToggle: () => void
}

function Bar({ row, span, started, now, scale, isSelected, onSelect, onToggle }: BarProps) {
  const from = ((span.start - started) / scale.total) * 100
  const time = Math.max(0, (span.end ?? now) - span.start)
  const share = (time / scale.total) * 100
  const state = spanState(span)
  const label = spanLabel(span)
  const tokens = span.usage === undefined ? 0 : tokensOf(span.usage)
  const figures = [
    state === "skipped" && span.error === undefined ? "" : showDuration(time),
    tokens === 0 || span.kind === "model_call" ? "" : `${showNumber(tokens)} tok`,
    state === "cached" || state === "failed" || state === "cancelled" || state === "skipped" ? state : "",
  ]
  const shown = figures.filter((figure) => figure !== "").join(" · ")
  return (
    <div
      role="treeitem"
      id={rowId(row.at)}
      class={`bar-row is-${state} of-${span.kind}`}
      aria-level={row.level}
      aria-selected={isSelected}
      {...(row.isParent ? { "aria-expanded": row.isOpen } : {})}
      onClick={onSelect}
      onDblClick={row.isParent ? onToggle : undefined}
    >
      <span class="bar-label" style={{ paddingLeft: `${(row.level - 1) * 12}px` }}>
        {row.isParent ? (
          <span
            class="twist"
            onClick={(event) => {
              event.stopPropagation()
              onToggle()
            }}
          >
            <Icon name={row.isOpen ? "down" : "right"} />
          </span>
        ) : (
          <span class="twist" />
        )}
        <Icon name={kindIcons[span.kind]} />
        <span class="bar-name">{`${label} `}</span>
        <span class="visually-hidden">{`${stateWords[state]} `}</span>
      </span>
      <span class="bar-track">
        <span class="bar" style={{ left: `min(${clamp(from)}%, 100% - 2px)`, width: `max(2px, ${clamp(share)}%)` }} />
      </span>
      <span class="bar-figures">{shown}</span>
    </div>
  )
}

function clamp(percent: number): number {
  return Math.max(0, Math.min(100, Math.round(percent * 100) / 100))
}
