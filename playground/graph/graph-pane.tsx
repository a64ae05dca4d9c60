import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { isOutdated } from "../language/source.ts"
import { graphOf } from "../shown-run/shown-run.ts"
import { openedCalls } from "../files/opened-calls.ts"
import { narrow } from "../page/layout.ts"
import { selection } from "../shown-run/selection.ts"
import { Icon } from "../ui/icon.tsx"
import { Drawing, NodeMenu } from "./drawing.tsx"
import type { Placed, PlacedNode, Room, View } from "./graph-layout.ts"
import type { GraphNode } from "./graph-node.ts"
import { leastFitIn, nodeHeight, nodeWidth, widthBesideMap } from "./graph-layout.ts"
import {
  allSteps,
  drawnNode,
  groups,
  levels,
  openGroups,
  placedGraph,
  setGraphRoom,
  setGroup,
  setGroups,
  uncover,
} from "./graph-model.ts"
import { canFind, FindStep } from "./find-step.tsx"
import { lastFocused, nextNode } from "./tab-stop.ts"
import { setGraphPort, zoomIn, zoomOut } from "./graph-port.ts"
import { WayBack } from "./way-back.tsx"
import { Minimap } from "./minimap.tsx"
import { standing, standingWords } from "../shown-run/standing.ts"

const closest = 2
const furthest = 0.1

/** The plan as a graph that can be moved and zoomed, with the state of each node while it runs. */
export function GraphPane() {
  const box = useRef<HTMLDivElement>(null)
  const placed = placedGraph.value
  const allClosed = openGroups.value.length === 0
  const [view, setView] = useState<View>({ x: 0, y: 0, zoom: 1 })
  /** Until it is moved by hand, the whole graph stays in view. */
  const moved = useRef(false)

  const [room, setRoom] = useState<Room>({ width: 0, height: 0 })

  const fit = (): void => {
    moved.current = false
    const element = box.current
    if (element !== null) setView(fitted(placed, element.clientWidth, element.clientHeight))
  }

  const drawn = useRef(allSteps.value)
  const opened = useRef("")
  const level = openedCalls.value.map(({ node, workflow }) => `${node} ${workflow}`).join("/")
  // What was pressed is gone.
  useEffect(() => {
    if (level === opened.current) return
    opened.current = level
    // One who searches types on.
    if (!(document.activeElement instanceof HTMLInputElement)) box.current?.focus({ preventScroll: true })
  }, [level])

  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return undefined
    // The graph of another workflow is fitted in, wherever the one before was moved to.
    if (isOther(allSteps.value, drawn.current) || level !== opened.current) moved.current = false
    drawn.current = allSteps.value
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

  const bringIn = (node: PlacedNode | undefined): void => {
    const element = box.current
    if (node === undefined || element === null) return
    setView((old) => {
      const next = withNode(old, node, element.clientWidth, element.clientHeight)
      if (next !== old) moved.current = true
      return next
    })
  }

  // Scrolls to a node that was selected in another pane.
  const chosen = levels.value.length === 0 ? selection.value?.node : selection.value?.inner?.node
  useEffect(() => {
    bringIn(drawnNode(placed, chosen))
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

  // With each drawing, whose size `fit` needs.
  useEffect(() => setGraphPort({ zoom: zoomAt, fit }))
  useEffect(() => () => setGraphPort(null), [])

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
      const zoom = Math.max(old.zoom, leastFitIn(room.width))
      return { zoom, x: room.width / 2 - x * zoom, y: room.height / 2 - y * zoom }
    })
  }

  /** Opens or closes a group, which stays at its place on the screen. */
  const toggle = (id: string): void => {
    const first = groups.value.find((group) => group.id === id)?.steps[0]
    const before = drawnNode(placed, first)
    setGroup(id, before?.group?.id === id)
    const after = drawnNode(placedGraph.value, first)
    if (moved.current && before !== undefined && after !== undefined) {
      setView((old) => ({
        ...old,
        x: old.x + (before.x - after.x) * old.zoom,
        y: old.y + (before.y - after.y) * old.zoom,
      }))
    }
    // What was pressed is another element now.
    requestAnimationFrame(() => box.current?.querySelector<SVGElement>(`[data-group="${id}"]`)?.focus())
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
    const next = event.target instanceof SVGElement ? nextNode(placed.nodes, idOf(event.target), event.key) : undefined
    if (next !== undefined) {
      lastFocused.value = next
      // One that was out of view is drawn first.
      if (!focusNode(box.current, next)) requestAnimationFrame(() => focusNode(box.current, next))
    } else if (step !== undefined && event.target === box.current) {
      moved.current = true
      setView((old) => ({ ...old, x: old.x + step[0], y: old.y + step[1] }))
    } else if (event.key === "+" || event.key === "=") zoomAt(zoomIn)
    else if (event.key === "-") zoomAt(zoomOut)
    else if (event.key === "0") fit()
    else if (event.key === "Escape" && openedCalls.value.length > 0) {
      openedCalls.value = openedCalls.value.slice(0, -1)
    } else return
    event.preventDefault()
  }

  return (
    <section class="pane graph" aria-label="Graph">
      <div class="graph-stage">
        <div
          class="graph-view"
          ref={box}
          tabIndex={0}
          role="application"
          aria-roledescription="graph"
          aria-label={`Plan of ${allSteps.value.length === 1 ? "1 step" : `${allSteps.value.length} steps`}. Arrows move it, and go from step to step; plus and minus zoom, zero fits it in.`}
          onPointerDown={drag}
          onKeyDown={key}
          onFocusIn={(event) => {
            const element = event.target
            if (!(element instanceof SVGElement)) return
            const node = placed.nodes.find(({ id }) => id === idOf(element))
            if (node !== undefined) lastFocused.value = node.id
            if (element.matches(":focus-visible")) bringIn(node)
          }}
        >
          {placed.nodes.length === 0 ? (
            <p class="empty">
              Nothing to draw yet. Declare an agent and an output, and the plan appears here as you type.
            </p>
          ) : (
            <Drawing placed={placed} view={view} room={room} onToggle={toggle} />
          )}
        </div>
        <WayBack />
        <NodeMenu />
        <Minimap placed={placed} view={view} room={room} onMove={centre} />
      </div>
      <div class="graph-tools">
        {!canFind.value ? null : (
          <FindStep
            onFound={(id) => {
              uncover(id)
              const node = drawnNode(placedGraph.value, id)
              if (node !== undefined) centre(node.x + nodeWidth / 2, node.y)
            }}
          />
        )}
        {groups.value.length === 0 ? null : (
          <button
            type="button"
            class="button square"
            aria-label="Close all groups"
            title={allClosed ? "Open all groups" : "Close all groups"}
            aria-pressed={allClosed}
            onClick={() => setGroups(allClosed)}
          >
            <Icon name="group" />
          </button>
        )}
        {isOutdated.value && placed.nodes.length > 0 ? (
          <span class="graph-note">last valid version</span>
        ) : standing.value !== "current" && graphOf.value !== "other" ? (
          <span class="graph-note">states {standingWords(standing.value)}</span>
        ) : null}
        <button type="button" class="button square" aria-label="Zoom out" onClick={() => zoomAt(zoomOut)}>
          <Icon name="minus" />
        </button>
        <span class="zoom">{Math.round(view.zoom * 100)} %</span>
        <button type="button" class="button square" aria-label="Zoom in" onClick={() => zoomAt(zoomIn)}>
          <Icon name="plus" />
        </button>
        <button type="button" class="button square" aria-label="Fit the graph in" onClick={fit}>
          <Icon name="fit" />
        </button>
      </div>
    </section>
  )
}

/** Whether the node is drawn, and has the focus now. */
function focusNode(box: HTMLElement | null, id: string): boolean {
  const element = [...(box?.querySelectorAll<SVGElement>(".node") ?? [])].find((one) => idOf(one) === id)
  element?.focus()
  return element !== undefined
}

/** The id of a node of the drawing. */
function idOf(element: SVGElement): string {
  return element.dataset["node"] ?? element.dataset["group"] ?? ""
}

/** Whether the graphs have no step in common. */
function isOther(steps: readonly GraphNode[], before: readonly GraphNode[]): boolean {
  const known = new Set(before.map(({ id }) => id))
  return steps !== before && steps.every(({ id, kind }) => kind === "output" || !known.has(id))
}

const buttonsHeight = 48

/** All of it in the middle; from its beginning, where all of it would be too small to read. */
function fitted({ width, height }: Placed, boxWidth: number, paneHeight: number): View {
  // The buttons at the bottom cover nothing, except in a pane that is too low; on a telephone they have a row of their own.
  const boxHeight = narrow.value || paneHeight < 4 * buttonsHeight ? paneHeight : paneHeight - buttonsHeight
  if (width === 0 || height === 0 || boxWidth === 0) return { x: 0, y: 0, zoom: 1 }
  const whole = Math.min(1, boxWidth / width, boxHeight / height)
  const least = leastFitIn(boxWidth)
  const free = whole >= least ? boxWidth : widthBesideMap(boxWidth)
  const zoom = whole >= least ? whole : Math.max(least, Math.min(1, free / width))
  return { zoom, x: Math.max(0, (free - width * zoom) / 2), y: Math.max(0, (boxHeight - height * zoom) / 2) }
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
