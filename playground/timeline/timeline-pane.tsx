import type { RefObject } from "preact"
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import type { Span } from "../../src/log/run-state.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { nodeOfSpan, spanLabel } from "../../src/log/span-names.ts"
import { standing } from "../shown-run/standing.ts"
import { tokensOf } from "../shown-run/run-status.ts"
import { awaitedText } from "../shown-run/node-status.ts"
import type { Known } from "../shown-run/step-state.ts"
import { failedSpan, spanState } from "../shown-run/step-state.ts"
import { requestRerun } from "../run/request-run.ts"
import { earlierRun, planOf } from "../shown-run/changes.ts"
import { moveDivider, positions, resetDivider } from "../page/layout.ts"
import { runClock, watchWhole } from "../shown-run/shown-run.ts"
import type { SelectedRow } from "../shown-run/selection.ts"
import { select, selectedRow, selectInCall, selection } from "../shown-run/selection.ts"
import { Divider } from "../ui/divider.tsx"
import type { IconName } from "../ui/icon.tsx"
import { Icon } from "../ui/icon.tsx"
import { shortIds, shortLabel } from "../ui/short-names.ts"
import { counted, shortNumber, showDuration, showTime } from "../ui/show.ts"
import type { StateName } from "../ui/state-words.ts"
import { stateWords } from "../ui/state-words.ts"
import { VirtualList } from "../ui/virtual-list.tsx"
import { ItemPreviews, itemSeparator } from "./item-preview.ts"
import { canLookBack, MomentBar, MomentSlider, momentOf } from "./look-back.tsx"
import type { CostShare } from "./cost-share.ts"
import { costShare, showShare } from "./cost-share.ts"
import { placeFigures } from "./place-figures.ts"
import type { Row } from "./rows.ts"
import { Rows } from "./rows.ts"
import type { Scale } from "./scale.ts"
import { markLabel, scaleFor } from "./scale.ts"
import type { TimeWindow } from "./zoom.ts"
import { moved, zoomed } from "./zoom.ts"

const rowHeight = 24
/** What stands beside a name in its column, and how wide a letter of it is, in pixels. */
const besideName = 56
const letterWidth = 7
/** Indentation of each level, in pixels. */
const indent = 12
/** The run on one time axis, live. */
export function TimelinePane() {
  const run = watchWhole()
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
  watchWhole()
  const { state, known } = run
  const [, redraw] = useState(0)
  const model = useMemo(() => new Rows(run.state), [run])
  const items = useMemo(() => new ItemPreviews(planOf(run), run.request.input, run.state), [run])
  const axis = useRef<HTMLDivElement>(null)
  const width = useWidth(axis, state.spans.length > 0)
  const nameHead = useRef<HTMLSpanElement>(null)
  const letters = Math.floor((useWidth(nameHead, state.spans.length > 0) - besideName) / letterWidth)
  const names = useMemo(() => shortIds(state.nodes, Math.max(12, letters)), [state.nodes.length, letters])
  const revealed = useRef<{ key: string; reveal: { at: number } | undefined }>({ key: "", reveal: undefined })
  const chosen = selection.value
  const current = chosen === null ? undefined : selectedRow(state, chosen)
  const currentId = current === undefined ? "" : rowId(current)
  // While nothing is selected, a run that has ended is seen from its failure, and one that is opened from its top.
  const failed = chosen === null && run.isOver && run.moment === null ? failedSpan(state) : undefined
  const lived = useRef<RunView | null>(null)
  if (!run.isOver) lived.current = run
  const isOpened = chosen === null && run.isOver && (run.isOpened || lived.current !== run)
  const revealKey = failed !== undefined ? `failure ${run.asked_at}` : isOpened ? `top ${run.asked_at}` : currentId
  const toReveal = current ?? (failed === undefined ? undefined : { at: failed })
  if (toReveal !== undefined && revealed.current.key !== revealKey) model.uncover(toReveal.at, toReveal.scope)
  const rows = model.list()
  const isCurrent = (row: Row): boolean => row.isCall !== true && rowId(row) === currentId
  const position = rows.findIndex(isCurrent)
  if (revealed.current.key !== revealKey) {
    const wanted = toReveal === undefined ? "" : rowId(toReveal)
    const at =
      toReveal === undefined && isOpened ? 0 : rows.findIndex((row) => row.isCall !== true && rowId(row) === wanted)
    revealed.current = { key: revealKey, reveal: at < 0 ? undefined : { at } }
  }
  const started = state.started_at ?? 0
  const live = !run.isOver && !run.isCut && state.started_at !== null
  const now =
    live || run.isCut ? Math.max(runClock.value, started) : (state.finished_at ?? lastEnd(state.spans, started))
  const whole = now - started
  const [part, setPart] = useState<TimeWindow | null>(null)
  const shownPart = live ? null : part
  const scale = scaleFor(shownPart?.length ?? whole, live, width, shownPart?.from)
  const zoom = (factor: number, around = scale.from + scale.total / 2): void => {
    if (!live) setPart((before) => zoomed(whole, before, factor, around))
  }
  const wheel = useRef<(event: WheelEvent) => void>(() => undefined)
  wheel.current = (event) => {
    const track = axis.current?.getBoundingClientRect()
    if (live || track === undefined) return
    if (event.ctrlKey || event.metaKey) {
      zoom(Math.exp(event.deltaY * 0.004), scale.from + ((event.clientX - track.left) / track.width) * scale.total)
    } else if (part !== null && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      setPart(moved(whole, part, (event.deltaX / track.width) * scale.total))
    } else return
    event.preventDefault()
  }
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    const turn = (event: WheelEvent): void => wheel.current(event)
    // Preact's own listener could not keep the page from zooming.
    element?.addEventListener("wheel", turn, { passive: false })
    return () => element?.removeEventListener("wheel", turn)
  }, [state.spans.length > 0])
  const moment = momentOf(run)

  const choose = (row: Row | undefined): void => {
    const of = row && model.stateOf(row.scope)
    if (row === undefined || of === undefined) return
    const node = nodeOfSpan(of, row.at) ?? ""
    if (row.scope === undefined) select({ node, span: row.at })
    else selectInCall(state, row.scope, node, row.at)
  }
  const toggle = (row: Row): void => {
    model.toggle(row.at, row.scope)
    redraw((count) => count + 1)
  }
  const costOf = (row: Row): CostShare | null => {
    if (row.level > 1 || row.isCall === true || row.scope !== undefined) return null
    const id = nodeOfSpan(state, row.at)
    return costShare(state.nodes.find((node) => node.id === id)?.usage.cost, state.usage.cost)
  }
  const middleOf = (row: Row | undefined): number | undefined => {
    const span = row === undefined ? undefined : state.spans[row.at]
    return span === undefined ? undefined : (span.start + (span.end ?? now)) / 2 - started
  }
  const runFrom = (row: Row): (() => void) | undefined => {
    const node = row.level === 1 && row.isCall !== true ? nodeOfSpan(state, row.at) : undefined
    if (node === undefined || node === "output" || earlierRun.value !== run) return undefined
    return () => requestRerun([node])
  }
  const key = (event: KeyboardEvent): void => {
    const row = rows[position]
    if (event.key === "ArrowDown") choose(rows[Math.min(rows.length - 1, position + 1)])
    else if (event.key === "ArrowUp") choose(rows[Math.max(0, position - 1)])
    else if (event.key === "Home") choose(rows[0])
    else if (event.key === "End") choose(rows.at(-1))
    else if (event.key === "+" || event.key === "=") zoom(0.5, middleOf(row))
    else if (event.key === "-") zoom(2, middleOf(row))
    else if (event.key === "0") setPart(null)
    else if (event.key === "ArrowRight" && row?.isParent === true && !row.isOpen) toggle(row)
    else if (event.key === "ArrowLeft" && row?.isOpen === true) toggle(row)
    else if (event.key === "ArrowLeft" && row !== undefined) {
      choose(rows.slice(0, position).findLast(({ level }) => level < row.level))
    } else return
    event.preventDefault()
  }

  if (rows.length === 0) {
    return <p class="empty">{emptyText(run)}</p>
  }
  return (
    <div
      ref={box}
      class={standing.value === "current" ? "waterfall" : "waterfall of-other-text"}
      style={{ "--names": `${positions.value.names}%` }}
    >
      <div class="axis" aria-hidden="true">
        <span class="axis-name" ref={nameHead}>
          {counted(rows.length, "row")}
        </span>
        <div class="axis-marks" ref={axis}>
          {scale.marks.map((at) => (
            <span key={at} style={{ left: `${((at - scale.from) / scale.total) * 100}%` }}>
              {markLabel(at)}
            </span>
          ))}
        </div>
      </div>
      <MomentBar run={run} />
      <VirtualList
        class="bars"
        role="tree"
        label="Timeline"
        count={rows.length}
        rowHeight={rowHeight}
        follow={live && chosen === null}
        reveal={revealed.current.reveal}
        active={position < 0 ? undefined : currentId}
        onKeyDown={key}
        row={(at) => {
          const row = rows[at]
          const span = row === undefined ? undefined : model.stateOf(row.scope)?.spans[row.at]
          if (row === undefined || span === undefined) return null
          const callStart = row.isCall === true ? (model.callStart(row.at, row.scope) ?? span.start) : undefined
          return (
            <Bar
              key={callStart === undefined ? rowId(row) : `call ${rowId(row)}`}
              row={row}
              known={known}
              span={callStart === undefined ? span : runningCall(span, callStart)}
              name={names.get(nodeOfSpan(state, row.at) ?? "")}
              letters={letters}
              item={row.isCall === true || row.scope !== undefined || span.kind !== "iteration" ? "" : items.of(row.at)}
              started={started}
              now={now}
              scale={scale}
              width={width}
              moment={moment}
              cost={costOf(row)}
              isSelected={isCurrent(row)}
              onSelect={() => choose(row)}
              onToggle={() => toggle(row)}
              onRunFrom={runFrom(row)}
            />
          )
        }}
      />
      {/* After the rows, which most people go to with the Tab key. */}
      {canLookBack(run) ? <MomentSlider run={run} scale={scale} whole={whole} /> : null}
      {canLookBack(run) ? <ZoomTools isWhole={part === null} zoom={zoom} reset={() => setPart(null)} /> : null}
      <Divider
        label="Width of the names"
        direction="columns"
        value={positions.value.names}
        onMove={(percent) => moveDivider("names", percent)}
        onReset={() => resetDivider("names")}
      />
    </div>
  )
}

interface ZoomToolsProps {
  readonly isWhole: boolean
  readonly zoom: (factor: number) => void
  readonly reset: () => void
}

/** For those without a wheel; the keys plus, minus and zero do the same. */
function ZoomTools({ isWhole, zoom, reset }: ZoomToolsProps) {
  return (
    <div class="time-zoom" role="group" aria-label="Zoom of the timeline">
      {isWhole ? null : (
        <>
          <button
            type="button"
            class="button square"
            aria-label="Show the whole run"
            title="Whole run (0)"
            onClick={reset}
          >
            <Icon name="fit" />
          </button>
          <button type="button" class="button square" aria-label="Zoom out in time" onClick={() => zoom(2)}>
            <Icon name="minus" />
          </button>
        </>
      )}
      <button
        type="button"
        class="button square"
        aria-label="Zoom in in time"
        title="Zoom in (+, or Ctrl and the wheel)"
        onClick={() => zoom(0.5)}
      >
        <Icon name="plus" />
      </button>
    </div>
  )
}

function emptyText(run: RunView): string {
  const { state, refused, isCut, isUnanswered, connection, hasConnected } = run
  if (state.finished_at !== null) return "The run ended before any step began."
  if (isCut && refused === null) return "Not connected to the run."
  if (refused?.kind === "run_expired") return "The run was deleted."
  if (run.isMissing) return "The service has no run of this id for you."
  if (isCut) return isUnanswered ? "The service did not answer." : "The run did not start."
  return connection !== "open" && !hasConnected ? "The service has not answered yet." : "Waiting for the first step …"
}

/** The bar of a model call that no event has reported yet. */
function runningCall({ name }: Span, start: number): Span {
  return { kind: "model_call", name, parent: null, start, end: null, state: "running" }
}

/** The width of an element, in pixels; it is there once `exists` is true. */
function useWidth(element: RefObject<HTMLElement>, exists: boolean): number {
  const [width, setWidth] = useState(400)
  useLayoutEffect(() => {
    const box = element.current
    if (box === null) return undefined
    const watch = new ResizeObserver(() => setWidth(box.clientWidth))
    watch.observe(box)
    setWidth(box.clientWidth)
    return () => watch.disconnect()
  }, [exists])
  return width
}

function lastEnd(spans: readonly Span[], started: number): number {
  return spans.reduce((latest, span) => Math.max(latest, span.end ?? span.start), started)
}

function rowId({ at, scope }: SelectedRow): string {
  return scope === undefined ? `span-${at}` : `span-${at}-${encodeURIComponent(scope)}`
}

const kindIcons: Readonly<Record<Span["kind"], IconName>> = {
  agent: "agent",
  ask: "ask",
  wait: "wait",
  loop: "loop",
  iteration: "agent",
  model_call: "model",
  retry: "retried",
  fallback: "retried",
  tool_call: "tool",
  hosted_tool: "tool",
  workflow_call: "braces",
  compaction: "compact",
  dynamic: "dynamic",
  resource: "document",
  prompt: "document",
  connection: "plug",
}

interface BarProps {
  readonly row: Row
  readonly known: Known
  readonly span: Span
  /** The name of its step, where there is room for it. */
  readonly name: string | undefined
  /** For so many letters a row of the first level has room. */
  readonly letters: number
  /** For an iteration: its item. */
  readonly item: string
  readonly started: number
  readonly now: number
  readonly scale: Scale
  /** Width of the track, in pixels. */
  readonly width: number
  /** Milliseconds since the start that a person looks back to; null at the end. */
  readonly moment: number | null
  /** Of a step. */
  readonly cost: CostShare | null
  readonly isSelected: boolean
  readonly onSelect: () => void
  readonly onToggle: () => void
  /** Absent where a run cannot begin at it. */
  readonly onRunFrom: (() => void) | undefined
}

const inFigures: ReadonlySet<StateName> = new Set(["cached", "reused", "failed", "cancelled", "skipped", "unknown"])

function Bar(props: BarProps) {
  const { row, known, span, name, letters, item, started, now, scale, width, moment, cost, isSelected } = props
  const { onSelect, onToggle, onRunFrom } = props
  const from = ((span.start - started - scale.from) / scale.total) * 100
  const time = Math.max(0, (span.end ?? now) - span.start)
  const share = (time / scale.total) * 100
  const state = spanState(span, known)
  // The loop above has the name.
  const label = span.kind === "iteration" ? `[${span.iteration ?? 0}]` : spanLabel(span)
  // What an expression called before its step began has a row of its own, and its own name.
  const room = letters - Math.floor(((row.level - 1) * indent) / letterWidth)
  const shownLabel = row.level === 1 && span.site === undefined ? (name ?? label) : shortLabel(label, room)
  const tokens = span.usage === undefined ? 0 : tokensOf(span.usage)
  const figures = [
    state === "reused" || (state === "skipped" && span.error === undefined) || span.call?.cut_off === true
      ? ""
      : state === "asking"
        ? `since ${showTime(span.start)}`
        : state === "waiting" && span.awaited !== undefined
          ? awaitedText(span.awaited)
          : showDuration(time),
    tokens === 0 ? "" : `${shortNumber(tokens)} tok`,
    cost?.text ?? "",
    span.call?.cut_off === true ? "cut off, usage unknown" : inFigures.has(state) ? stateWords[state] : "",
  ]
  const shown = figures.filter((figure) => figure !== "").join(" · ")
  const isOutside = from + share < 0 || from > 100
  const [left, right] = [clamp(from), clamp(from + share)]
  const short = span.call?.cut_off === true ? "cut off" : (figures[0] ?? "")
  const place = placeFigures([shown, short], left, right, width)
  const after = `after ${showDuration(span.start - started)}`
  const tooltip = [`${spanLabel(span)}: ${stateWords[state]}`, item, span.reason, `${showDuration(time)}, ${after}`]
  if (cost !== null) tooltip.push(showShare(cost))
  return (
    <div
      role="treeitem"
      id={row.isCall === true ? undefined : rowId(row)}
      class={`bar-row is-${state} of-${span.kind}`}
      aria-level={row.level}
      aria-selected={isSelected}
      title={tooltip.filter((line) => line !== undefined && line !== "").join("\n")}
      {...(row.isParent ? { "aria-expanded": row.isOpen } : {})}
      onClick={onSelect}
      onDblClick={row.isParent ? onToggle : undefined}
    >
      <span class="bar-label" style={{ paddingLeft: `${(row.level - 1) * indent}px` }}>
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
        <span class="visually-hidden">{`${label} `}</span>
        <span class="bar-name" aria-hidden="true">
          <CutInTheMiddle text={shownLabel} />
        </span>
        {item === "" ? null : (
          <>
            <span class="visually-hidden">{`${item} `}</span>
            <span class="bar-name bar-item" aria-hidden="true">
              {item.includes(itemSeparator) ? <span class="cut-start">{item}</span> : <CutInTheMiddle text={item} />}
            </span>
          </>
        )}
        <span class="visually-hidden">{`${stateWords[state]} ${shown}`}</span>
      </span>
      <span class="bar-track">
        {cost === null ? null : <span class="bar-cost" style={{ width: `max(2px, ${cost.percent}%)` }} />}
        {isOutside ? null : (
          <>
            <span class="bar" style={{ left: `min(${left}%, 100% - 2px)`, width: `max(2px, ${right - left}%)` }} />
            <span class="bar-figures" aria-hidden="true" style={place.style}>
              {place.text}
            </span>
          </>
        )}
        {moment === null ? null : (
          <span class="moment" style={{ left: `${clamp(((moment - scale.from) / scale.total) * 100)}%` }} />
        )}
      </span>
      {onRunFrom === undefined || !isSelected ? null : (
        <button
          type="button"
          class="button square run-from"
          aria-label={`Run from ${spanLabel(span)}`}
          title="Run this step and all that follows from it"
          tabIndex={-1}
          onClick={(event) => {
            event.stopPropagation()
            onRunFrom()
          }}
        >
          <Icon name="play" />
        </button>
      )}
    </div>
  )
}

function clamp(percent: number): number {
  return Math.max(0, Math.min(100, Math.round(percent * 100) / 100))
}

/** Letters at the end of a label that stay in view. */
const tail = 8

/** A text whose middle gives way where there is no room: names often differ at their ends. */
function CutInTheMiddle({ text }: { readonly text: string }) {
  if (text.length < tail * 2) return <span class="cut-start">{text}</span>
  return (
    <>
      <span class="cut-start">{text.slice(0, -tail)}</span>
      <span class="cut-end">{text.slice(-tail)}</span>
    </>
  )
}
