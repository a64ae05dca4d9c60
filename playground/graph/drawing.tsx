import { signal } from "@preact/signals"
import { useLayoutEffect, useMemo, useRef } from "preact/hooks"
import { requestRerun } from "../run/request-run.ts"
import { earlierRun, wouldRun } from "../shown-run/changes.ts"
import { expected } from "../history/expected.ts"
import { expectedSentence } from "../history/ranges.ts"
import { isDone } from "../shown-run/step-state.ts"
import type { NodeStatus } from "../shown-run/node-status.ts"
import { goToQuestion, questionOf } from "../questions/open-questions.ts"
import { graphOf } from "../shown-run/shown-run.ts"
import { select, selection, tracedSteps } from "../shown-run/selection.ts"
import { labelsOf, showsWays } from "../reach/reach.ts"
import { standing } from "../shown-run/standing.ts"
import { iconPath } from "../ui/icon.tsx"
import { keepWithin } from "../ui/menu.tsx"
import { shortNames } from "../ui/short-names.ts"
import type { Placed, PlacedEdge, PlacedNode, Room, View } from "./graph-layout.ts"
import { nodeHeight, nodeWidth } from "./graph-layout.ts"
import { drawnNode, levels, openCall, openGroups, selectInside, statusesOf } from "./graph-model.ts"
import { ClosedGroup, GroupGround, GroupHandle } from "./group-view.tsx"
import { inView } from "./in-view.ts"
import { StatusView } from "./status-view.tsx"
import { tabStopOf } from "./tab-stop.ts"

/** How many characters of a name fit, without and with the time beside it. */
const plannedLength = 20
const ranLength = 14

interface DrawingProps {
  readonly placed: Placed
  readonly view: View
  readonly room: Room
  readonly onToggle: (group: string) => void
}

/** The nodes, the edges between them and the groups that they are in. */
export function Drawing({ placed, view, room, onToggle }: DrawingProps) {
  const stop = tabStopOf(placed)
  const { nodes, edges } = inView(placed, view, room, [stop, drawnNode(placed, selection.value?.node)?.id])
  const statuses = statusesOf(placed)
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
        {openGroups.value.map((group) => (
          <GroupGround key={group.id} group={group} placed={placed} />
        ))}
        {showsWays.value && levels.value.length === 0
          ? edges.map((edge) => <Ways key={`${edge.from} ${edge.to}`} edge={edge} placed={placed} />)
          : null}
        {edges.map((edge) => (
          <EdgeView
            key={`${edge.from} ${edge.to}`}
            edge={edge}
            from={statuses.get(edge.from)}
            to={statuses.get(edge.to)}
          />
        ))}
        {nodes.map((node) =>
          node.group === undefined ? (
            <NodeView
              key={node.id}
              node={node}
              isTabStop={node.id === stop}
              shortName={(statuses.size === 0 ? planned : ran).get(node.id) ?? node.name}
              status={statuses.get(node.id)}
            />
          ) : (
            <ClosedGroup
              key={node.id}
              node={node}
              isTabStop={node.id === stop}
              group={node.group}
              status={statuses.get(node.id)}
              onToggle={onToggle}
            />
          ),
        )}
        {nodes.flatMap((node) =>
          (node.calls ?? [])
            .slice(0, maxHandles)
            .map((workflow, at) => (
              <CallHandle key={`${node.id} ${workflow}`} node={node} workflow={workflow} at={at} />
            )),
        )}
        {/* Over the nodes, because the area that a finger hits reaches a little beyond the gap between them. */}
        {openGroups.value.map((group) => (
          <GroupHandle key={group.id} group={group} placed={placed} zoom={view.zoom} onToggle={onToggle} />
        ))}
      </g>
    </svg>
  )
}

interface EdgeViewProps {
  readonly edge: PlacedEdge
  readonly from: NodeStatus | undefined
  readonly to: NodeStatus | undefined
}

function EdgeView({ edge, from, to }: EdgeViewProps) {
  const done = from !== undefined && isDone(from.state)
  const flows = done && (to?.state === "running" || to?.state === "retried")
  const traced = tracedSteps.value.has(edge.from) && tracedSteps.value.has(edge.to)
  const classes = [
    traced ? "edge traced-way" : "edge",
    edge.isConditional ? "conditional" : "",
    flows ? "flows" : "",
    done ? "done" : "",
  ]
  return <path class={classes.filter((one) => one !== "").join(" ")} d={edge.path} marker-end="url(#arrow)" />
}

/** The steps that a node of the drawing shows. */
function stepsAt({ nodes }: Placed, id: string): readonly string[] {
  return nodes.find((node) => node.id === id)?.group?.steps ?? [id]
}

/** What strangers wrote and what is private, along an edge. */
function Ways({ edge, placed }: { readonly edge: PlacedEdge; readonly placed: Placed }) {
  const { untrusted, private: secret } = labelsOf(stepsAt(placed, edge.from), stepsAt(placed, edge.to))
  return (
    <>
      {untrusted ? <path class="way untrusted" d={edge.path} transform={secret ? "translate(-1.5 -1.5)" : ""} /> : null}
      {secret ? <path class="way private" d={edge.path} transform={untrusted ? "translate(1.5 1.5)" : ""} /> : null}
    </>
  )
}

/** Dots at a node that reads what strangers wrote, or private data. */
function Reads({ id, height }: { readonly id: string; readonly height: number }) {
  const { untrusted, private: secret } = labelsOf(null, [id])
  return (
    <g class="reads">
      {untrusted ? (
        <circle class="untrusted" cx="0" cy={height / 2 - (secret ? 6 : 0)} r="5">
          <title>Reads untrusted content</title>
        </circle>
      ) : null}
      {secret ? (
        <circle class="private" cx="0" cy={height / 2 + (untrusted ? 6 : 0)} r="5">
          <title>Reads private data</title>
        </circle>
      ) : null}
    </g>
  )
}

interface NodeViewProps {
  /** The Tab key goes to it. */
  readonly isTabStop: boolean
  readonly node: PlacedNode
  /** Its name, as long as there is room for. */
  readonly shortName: string
  readonly status: NodeStatus | undefined
}

/** The menu of a node that is open, and where. */
const openMenu = signal<{ readonly node: string; readonly x: number; readonly y: number } | null>(null)

export function NodeMenu() {
  const menu = openMenu.value
  const first = useRef<HTMLButtonElement>(null)
  // Before the next key is handled.
  useLayoutEffect(() => {
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

function NodeView({ node, isTabStop, shortName, status }: NodeViewProps) {
  const inner = levels.value.at(-1)
  const why = inner === undefined ? wouldRun(node.id) : null
  const ghost = why === null ? undefined : expected.value.get(node.id)
  const wouldRunWords =
    why === null ? "" : `Would run: ${why}${ghost === undefined ? "" : `. ${expectedSentence(ghost)}`}`
  const isSelected = isSelectedHere(node.id)
  const toggle = (): void => {
    if (inner !== undefined) {
      selectInside(node.id)
      return
    }
    select({ node: node.id })
    const question = graphOf.value === "other" ? undefined : questionOf(node.id)
    if (question !== undefined) goToQuestion(question)
  }
  const height = nodeHeight(node)
  const kind = node.kind === "output" ? "the workflow's output" : node.kind
  return (
    <g
      class={`node kind-${node.kind} is-${status?.state ?? "waiting"}${status === undefined ? " planned" : ""}${why === null ? "" : " would-run"}${tracedSteps.value.has(node.id) ? " traced-way" : ""}`}
      transform={`translate(${node.x} ${node.y})`}
      role="button"
      // In SVG the attribute is written so; as `tabIndex` the browser would not know it.
      tabindex={isTabStop ? 0 : -1}
      aria-pressed={isSelected}
      aria-description={`${node.when === undefined ? kind : `${kind}, when ${node.when}`}${why === null ? "" : `. ${wouldRunWords}`}`}
      data-node={node.id}
      onClick={toggle}
      onContextMenu={(event) => {
        if (node.kind === "output" || earlierRun.value === null || inner !== undefined) return
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
      {showsWays.value && inner === undefined ? <Reads id={node.id} height={height} /> : null}
      {why === null ? null : (
        <circle class="would-run-mark" cx={nodeWidth} cy="0" r="5">
          <title>{wouldRunWords}</title>
        </circle>
      )}
      <path
        class="icon"
        transform="translate(12 10) scale(0.875)"
        d={iconPath(node.loop === undefined && node.rounds === undefined ? node.kind : "loop")}
      />
      <text class="node-name" x="32" y="21">
        {`${shortName} `}
      </text>
      {status === undefined ? (
        <text class="node-note" x="12" y="43">
          {cut(noteOf(node), 30)}
        </text>
      ) : (
        <StatusView status={status} height={height} />
      )}
      {node.when === undefined ? null : (
        <text class="node-when" x="12" y="63">
          <tspan class="node-when-word">when</tspan>
          {` ${cut(node.when, 22)} `}
        </text>
      )}
    </g>
  )
}

/** More workflows of one step than this are opened from the details. */
const maxHandles = 4
const handleRadius = 10

/** Opens the graph of a workflow that the step calls. */
function CallHandle({ node, workflow, at }: { node: PlacedNode; workflow: string; at: number }) {
  const x = node.x + nodeWidth - 16 - at * (2 * handleRadius + 4)
  const y = node.y + nodeHeight(node)
  const label = `Open workflow.${workflow} of ${node.id}`
  const open = (): void => openCall(node.id, workflow)
  return (
    <g
      class="call-handle"
      transform={`translate(${x} ${y})`}
      role="button"
      tabindex={0}
      aria-label={label}
      onClick={open}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return
        event.preventDefault()
        event.stopPropagation()
        open()
      }}
    >
      <title>{label}</title>
      <circle class="hit" r="16" />
      <circle class="box" r={handleRadius} />
      <path class="icon" transform="translate(-6 -6) scale(0.75)" d={iconPath("jump")} />
    </g>
  )
}

/** Whether a node of the drawn graph is the selected one. */
function isSelectedHere(id: string): boolean {
  const inner = levels.value.at(-1)
  const chosen = selection.value
  if (inner === undefined) return chosen?.node === id
  return chosen?.inner?.node === id && chosen.inner.scope === inner.scope
}

function noteOf(node: PlacedNode): string {
  if (node.loop !== undefined) return `for ${node.loop}`
  if (node.rounds !== undefined) return `at most ${node.rounds} ${node.rounds === 1 ? "round" : "rounds"}`
  if (node.kind === "agent") return node.model === undefined ? "agent" : `agent · model.${node.model}`
  if (node.kind === "ask") return "a person answers"
  if (node.kind === "wait") return node.event === undefined ? "waits for a time" : `waits for ${node.event}`
  if (node.kind === "dynamic" && node.calls !== undefined) return `calls ${node.calls.join(", ")}`
  return node.kind === "output" ? "the result" : "dynamic value"
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
