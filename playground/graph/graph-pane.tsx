import { signal } from "@preact/signals"
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import type { NodeState } from "../../src/run/run-state.ts"
import { requestRerun } from "../run/request-run.ts"
import { earlierRun, wouldRun } from "../state/changes.ts"
import { graphOf, runClock, watchShown } from "../state/runs.ts"
import { goToQuestion, questionOf } from "../state/questions.ts"
import { select, selection } from "../state/selection.ts"
import { Icon, iconPath } from "../ui/icon.tsx"
import { keepWithin } from "../ui/menu.tsx"
import type { Placed, PlacedEdge, PlacedNode, Room } from "./graph-layout.ts"
import { leastFit, nodeHeight, nodeWidth } from "./graph-layout.ts"
import { isOutdated, placedGraph, setGraphRoom } from "./graph-model.ts"
import { shortNames } from "./short-names.ts"
import type { NodeStatus } from "../state/node-status.ts"
import { nodeStatus } from "../state/node-status.ts"
import { FindStep, findsFrom } from "./find-step.tsx"
import type { View } from "./minimap.tsx"
import { Minimap } from "./minimap.tsx"
import { standing, standingWords } from "../state/standing.ts"

const closest = 2
const furthest = 0.1

/** The plan as a graph that can be moved and zoomed, with the state of each node while it runs. */
export function GraphPane() {
  const box = useRef<HTMLDivElement>(null)
  const placed = placedGraph.value
  const [view, setView] = useState<View>({ x: 0, y: 0, zoom: 1 })
  /** Until it is moved by hand, the whole graph stays in view. */
  const moved = useRef(false)

  const [room, setRoom] = useState<Room>({ width: 0, height: 0 })

  const fit = (): void => {
    moved.current = false
    const element = box.current
    if (element !== null) setView(fitted(placed, element.clientWidth, element.clientHeight))
  }

  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const refit = (): void => {
      const { clientWidth: width, clientHeight: height } = element
      setGraphRoom(width, height)
      setRoom((old) => (old.width === width && old.height === height ? old : { width, height }))
      if (!moved.current) setView(fitted(placed, width, height))
    }
    const watch = new ResizeObserver(refit)
    watch.observe(element)
    refit()
    return () => watch.disconnect()
  }, [placed])

  // What is selected elsewhere is brought into view.
  const chosen = selection.value?.node
  useEffect(() => {
    const node = placed.nodes.find(({ id }) => id === chosen)
    const element = box.current
    if (node === undefined || element === null) return
    setView((old) => {
      const next = withNode(old, node, element.clientWidth, element.clientHeight)
      if (next !== old) moved.current = true
      return next
    })
    // Only a new choice moves it: the graph of another text is fitted in as a whole.
  }, [chosen])

  const zoomAt = (factor: number, x?: number, y?: number): void => {
    const element = box.current
    if (element === null) return
    moved.current = true
    const [atX, atY] = [x ?? element.clientWidth / 2, y ?? element.clientHeight / 2]
    setView((old) => {
      const zoom = Math.max(furthest, Math.min(closest, old.zoom * factor))
      const scale = zoom / old.zoom
      return { zoom, x: atX - (atX - old.x) * scale, y: atY - (atY - old.y) * scale }
    })
  }

  // Not passive, unlike the listener that JSX would add: the page must not scroll along.
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const wheel = (event: WheelEvent): void => {
      event.preventDefault()
      const bounds = element.getBoundingClientRect()
      if (event.ctrlKey || event.metaKey) {
        zoomAt(Math.exp(-event.deltaY / 200), event.clientX - bounds.left, event.clientY - bounds.top)
      } else {
        moved.current = true
        setView((old) => ({ ...old, x: old.x - event.deltaX, y: old.y - event.deltaY }))
      }
    }
    element.addEventListener("wheel", wheel, { passive: false })
    return () => element.removeEventListener("wheel", wheel)
  }, [])

  const drag = useDrag((x, y) => {
    moved.current = true
    setView((old) => ({ ...old, x: old.x + x, y: old.y + y }))
  }, zoomAt)

  /** Brings a place of the drawing to the middle, at a zoom at which it can be read. */
  const centre = (x: number, y: number): void => {
    moved.current = true
    setView((old) => {
      const zoom = Math.max(old.zoom, leastFit)
      return { zoom, x: room.width / 2 - x * zoom, y: room.height / 2 - y * zoom }
    })
  }

  const key = (event: KeyboardEvent): void => {
    if (event.target instanceof HTMLInputElement) return
    const steps: Record<string, readonly [number, number]> = {
      ArrowLeft: [40, 0],
      ArrowRight: [-40, 0],
      ArrowUp: [0, 40],
      ArrowDown: [0, -40],
    }
    const step = steps[event.key]
    if (step !== undefined && event.target === box.current) {
      moved.current = true
      setView((old) => ({ ...old, x: old.x + step[0], y: old.y + step[1] }))
    } else if (event.key === "+" || event.key === "=") zoomAt(1.25)
    else if (event.key === "-") zoomAt(0.8)
    else if (event.key === "0") fit()
    else return
    event.preventDefault()
  }

  return (
    <section class="pane graph" aria-label="Graph">
      <div
        class="graph-view"
        ref={box}
        tabIndex={0}
        role="application"
        aria-roledescription="graph"
        aria-label={`Plan of ${placed.nodes.length} steps. Arrows move it, plus and minus zoom, zero fits it in.`}
        onPointerDown={drag}
        onKeyDown={key}
      >
        {placed.nodes.length === 0 ? (
          <p class="empty">
            Nothing to draw yet. Declare an agent and an output, and the plan appears here as you type.
          </p>
        ) : (
          <Drawing placed={placed} view={view} />
        )}
      </div>
      <NodeMenu />
      <Minimap placed={placed} view={view} room={room} onMove={centre} />
      <div class="graph-tools">
        {placed.nodes.length < findsFrom ? null : (
          <FindStep placed={placed} onFound={(node) => centre(node.x + nodeWidth / 2, node.y)} />
        )}
        {isOutdated.value && placed.nodes.length > 0 ? (
          <span class="graph-note">as of the last text without errors</span>
        ) : standing.value !== "current" && graphOf.value !== "other" ? (
          <span class="graph-note">states {standingWords(standing.value)}</span>
        ) : null}
        <button type="button" class="button square" aria-label="Zoom out" onClick={() => zoomAt(0.8)}>
          <Icon name="minus" />
        </button>
        <span class="zoom">{Math.round(view.zoom * 100)} %</span>
        <button type="button" class="button square" aria-label="Zoom in" onClick={() => zoomAt(1.25)}>
          <Icon name="plus" />
        </button>
        <button type="button" class="button square" aria-label="Fit the graph in" onClick={fit}>
          <Icon name="fit" />
        </button>
      </div>
    </section>
  )
}

/** All of it in the middle; from its beginning, where all of it would be too small to read. */
function fitted({ width, height }: Placed, boxWidth: number, boxHeight: number): View {
  if (width === 0 || height === 0 || boxWidth === 0) return { x: 0, y: 0, zoom: 1 }
  const whole = Math.min(1, boxWidth / width, boxHeight / height)
  const zoom = whole >= leastFit ? whole : Math.max(leastFit, Math.min(1, boxWidth / width))
  return { zoom, x: Math.max(0, (boxWidth - width * zoom) / 2), y: Math.max(0, (boxHeight - height * zoom) / 2) }
}

/** Space around a node that is brought into view. */
const margin = 24

/** The view, moved as little as it takes to show the node; the same where it shows it already. */
function withNode(view: View, node: PlacedNode, width: number, height: number): View {
  const shift = (start: number, size: number, room: number): number =>
    start < 0 || size > room ? margin - start : start + size > room ? room - margin - size - start : 0
  const x = shift(view.x + node.x * view.zoom, nodeWidth * view.zoom, width)
  const y = shift(view.y + node.y * view.zoom, nodeHeight(node) * view.zoom, height)
  return width === 0 || (x === 0 && y === 0) ? view : { ...view, x: view.x + x, y: view.y + y }
}

/** One finger or the mouse moves, two fingers zoom. */
function useDrag(move: (x: number, y: number) => void, zoomAt: (factor: number, x: number, y: number) => void) {
  const fingers = useRef(new Map<number, { x: number; y: number }>())
  return (event: PointerEvent): void => {
    const element = event.currentTarget
    if (!(element instanceof HTMLElement) || event.button !== 0) return
    if (event.target instanceof Element && event.target.closest(".node") !== null && event.pointerType === "mouse")
      return
    const points = fingers.current
    points.set(event.pointerId, { x: event.clientX, y: event.clientY })
    const moving = (next: PointerEvent): void => {
      const before = points.get(next.pointerId)
      if (before === undefined) return
      const now = { x: next.clientX, y: next.clientY }
      const other = [...points].find(([id]) => id !== next.pointerId)?.[1]
      if (other === undefined) move(now.x - before.x, now.y - before.y)
      else {
        const bounds = element.getBoundingClientRect()
        const factor = distance(now, other) / Math.max(1, distance(before, other))
        zoomAt(factor, (now.x + other.x) / 2 - bounds.left, (now.y + other.y) / 2 - bounds.top)
      }
      points.set(next.pointerId, now)
    }
    const end = (next: PointerEvent): void => {
      points.delete(next.pointerId)
      if (points.size > 0) return
      window.removeEventListener("pointermove", moving)
      window.removeEventListener("pointerup", end)
      window.removeEventListener("pointercancel", end)
    }
    if (points.size > 1) return
    window.addEventListener("pointermove", moving)
    window.addEventListener("pointerup", end)
    window.addEventListener("pointercancel", end)
  }
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y)
}

// ------------------------------------------------------------------------------------------------------- drawing

/** How many characters of a name fit, without and with the time beside it. */
const plannedLength = 22
const ranLength = 15

function Drawing({ placed, view }: { readonly placed: Placed; readonly view: View }) {
  const run = watchShown()
  const states = new Map(graphOf.value === "other" ? [] : run?.state.nodes.map((node) => [node.id, node]))
  const live = run !== null && !run.isOver
  // Times move while something runs, ten times a second and not with every frame.
  const now = live ? Math.floor(runClock.value / 100) * 100 : 0
  const statusOf = (id: string): NodeStatus | undefined => {
    const state = states.get(id)
    return state === undefined || run === null ? undefined : nodeStatus(state, run.state, now)
  }
  const [planned, ran] = useMemo(
    () => [shortNames(placed.nodes, plannedLength), shortNames(placed.nodes, ranLength)],
    [placed],
  )
  return (
    <svg
      class={standing.value === "current" ? "drawing" : "drawing of-other-text"}
      width="100%"
      height="100%"
      aria-hidden="false"
      role="group"
      aria-label="Steps"
    >
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M1 1 7 4 1 7" class="arrow" />
        </marker>
      </defs>
      <g transform={`translate(${view.x} ${view.y}) scale(${view.zoom})`}>
        {placed.edges.map((edge) => (
          <EdgeView
            key={`${edge.from} ${edge.to}`}
            edge={edge}
            from={states.get(edge.from)?.state}
            to={states.get(edge.to)?.state}
          />
        ))}
        {placed.nodes.map((node) => (
          <NodeView
            key={node.id}
            node={node}
            shortName={(run === null || graphOf.value === "other" ? planned : ran).get(node.id) ?? node.name}
            status={statusOf(node.id)}
          />
        ))}
      </g>
    </svg>
  )
}

interface EdgeViewProps {
  readonly edge: PlacedEdge
  readonly from: NodeState["state"] | undefined
  readonly to: NodeState["state"] | undefined
}

function EdgeView({ edge, from, to }: EdgeViewProps) {
  const flows = from === "completed" && to === "running"
  const done = from === "completed"
  const classes = ["edge", edge.isConditional ? "conditional" : "", flows ? "flows" : "", done ? "done" : ""]
  return <path class={classes.filter((one) => one !== "").join(" ")} d={edge.path} marker-end="url(#arrow)" />
}

interface NodeViewProps {
  readonly node: PlacedNode
  /** Its name, as long as there is room for. */
  readonly shortName: string
  readonly status: NodeStatus | undefined
}

/** The menu of a node that is open, and where. */
const openMenu = signal<{ readonly node: string; readonly x: number; readonly y: number } | null>(null)

function NodeMenu() {
  const menu = openMenu.value
  const first = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    first.current?.focus()
    const box = first.current?.parentElement
    if (box) keepWithin(box)
  }, [menu])
  if (menu === null || earlierRun.value === null) return null
  const close = (): void => {
    openMenu.value = null
  }
  return (
    <div
      class="node-menu"
      role="menu"
      aria-label={menu.node}
      style={{ left: `${menu.x}px`, top: `${menu.y}px` }}
      onKeyDown={(event) => event.key === "Escape" && close()}
      onBlur={close}
    >
      <button
        type="button"
        role="menuitem"
        class="button"
        ref={first}
        onClick={() => {
          close()
          requestRerun([menu.node])
        }}
      >
        Run from here
      </button>
    </div>
  )
}

function NodeView({ node, shortName, status }: NodeViewProps) {
  const why = wouldRun(node.id)
  const isSelected = selection.value?.node === node.id
  const toggle = (): void => {
    select({ node: node.id })
    const question = graphOf.value === "other" ? undefined : questionOf(node.id)
    if (question !== undefined) goToQuestion(question)
  }
  const height = nodeHeight(node)
  const kind = node.kind === "output" ? "the workflow's output" : node.kind
  return (
    <g
      class={`node kind-${node.kind} is-${status?.state ?? "waiting"}${status === undefined ? " planned" : ""}${why === null ? "" : " would-run"}`}
      transform={`translate(${node.x} ${node.y})`}
      role="button"
      // In SVG the attribute is written so; as `tabIndex` the browser would not know it.
      tabindex={0}
      aria-pressed={isSelected}
      aria-description={`${node.when === undefined ? kind : `${kind}, when ${node.when}`}${why === null ? "" : `. Would run: ${why}`}`}
      data-node={node.id}
      onClick={toggle}
      onContextMenu={(event) => {
        if (node.kind === "output" || earlierRun.value === null) return
        event.preventDefault()
        const bounds = event.currentTarget.closest(".graph")?.getBoundingClientRect()
        const own = event.currentTarget.getBoundingClientRect()
        openMenu.value = {
          node: node.id,
          x: (event.clientX || own.left) - (bounds?.left ?? 0),
          y: (event.clientY || own.bottom) - (bounds?.top ?? 0),
        }
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return
        event.preventDefault()
        event.stopPropagation()
        toggle()
      }}
    >
      {shortName === node.name ? null : <title>{node.id}</title>}
      <rect class="box" width={nodeWidth} height={height} rx="4" />
      <rect class="stripe" width="3" height={height} rx="1.5" />
      {why === null ? null : (
        <circle class="would-run-mark" cx={nodeWidth} cy="0" r="5">
          <title>{`Would run: ${why}`}</title>
        </circle>
      )}
      <path
        class="icon"
        transform="translate(12 10) scale(0.875)"
        d={iconPath(node.loop === undefined ? node.kind : "loop")}
      />
      {/* The blanks at the ends keep the words apart where they are read out as one name. */}
      <text class="node-name" x="32" y="21">
        {`${shortName} `}
      </text>
      {status === undefined ? (
        <text class="node-note" x="12" y="43">
          {cut(noteOf(node), 30)}
        </text>
      ) : (
        <>
          <path class="icon state-icon" transform="translate(12 33) scale(0.8)" d={iconPath(status.state)} />
          <text class="node-state" x="28" y="43">
            {`${status.word} `}
          </text>
          <text class="node-figures" x={nodeWidth - 8} y="21">
            {`${status.time} `}
          </text>
          <text class="node-figures" x={nodeWidth - 8} y="43">
            {status.figures}
          </text>
        </>
      )}
      {node.when === undefined ? null : (
        <text class="node-when" x="12" y="63">
          <tspan class="node-when-word">when</tspan>
          {` ${cut(node.when, 22)} `}
        </text>
      )}
      {status?.progress === undefined ? null : (
        <rect class="progress" x="3" y={height - 3} width={(nodeWidth - 3) * status.progress} height="3" />
      )}
    </g>
  )
}

function noteOf(node: PlacedNode): string {
  if (node.loop !== undefined) return `for ${node.loop}`
  if (node.kind === "agent") return node.model === undefined ? "agent" : `agent · model.${node.model}`
  if (node.kind === "ask") return "a person answers"
  return node.kind === "output" ? "the result" : "dynamic value"
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
