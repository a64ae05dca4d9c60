import { useMemo } from "preact/hooks"
import { wouldRun } from "../shown-run/changes.ts"
import type { NodeStatus } from "../shown-run/node-status.ts"
import { selection } from "../shown-run/selection.ts"
import { iconPath } from "../ui/icon.tsx"
import { shortNames } from "../ui/short-names.ts"
import type { Placed, PlacedNode } from "./graph-layout.ts"
import { nodeHeight, nodeWidth } from "./graph-layout.ts"
import { drawnNode, openGroups } from "./graph-model.ts"
import type { Group } from "./graph-node.ts"
import { StatusView } from "./status-view.tsx"

/** Space around the nodes of a group; half of the gap between two rows, so that their grounds touch. */
const pad = 12
const handleHeight = 20
const handleWidth = 118
/** A finger needs 32 px; more than this would cover too much of the nodes. */
const maxHit = 46

type Toggle = (group: string) => void

/** Enter and Space do what a click does. */
function presses(act: () => void) {
  return {
    onClick: act,
    onKeyDown: (event: KeyboardEvent): void => {
      if (event.key !== "Enter" && event.key !== " ") return
      event.preventDefault()
      event.stopPropagation()
      act()
    },
  }
}

interface OpenGroupProps {
  readonly group: Group
  readonly placed: Placed
}

/** The ground that the steps of an open group stand on. */
export function GroupGround({ group, placed }: OpenGroupProps) {
  const path = useMemo(() => {
    const steps = new Set(group.steps)
    const inside = placed.nodes.filter(({ id, group: closed }) => steps.has(id) || steps.has(closed?.steps[0] ?? ""))
    return inside.map((node) => ground(node, inside)).join("")
  }, [group, placed])
  return <path class="group-ground" d={path} />
}

interface HandleProps extends OpenGroupProps {
  readonly zoom: number
  readonly onToggle: Toggle
}

/** Above the first step of an open group: closes it. */
export function GroupHandle({ group, placed, zoom, onToggle }: HandleProps) {
  const first = drawnNode(placed, group.steps[0])
  if (first === undefined) return null
  const sameStart = openGroups.value.filter(({ steps: [start] }) => start === group.steps[0])
  const right = sameStart.indexOf(group) * (handleWidth + 4)
  const hit = Math.max(handleHeight, Math.min(maxHit, 32 / zoom))
  const name = `Close the group: ${shortGroupName(group)}`
  return (
    <g
      class="group-handle"
      transform={`translate(${first.x + right} ${first.y - handleHeight - 2})`}
      role="button"
      tabindex={0}
      aria-expanded="true"
      aria-label={name}
      data-group={group.id}
      {...presses(() => onToggle(group.id))}
    >
      <title>{name}</title>
      <rect class="hit" y={(handleHeight - hit) / 2} width={handleWidth} height={hit} />
      <rect class="box" width={handleWidth} height={handleHeight} rx="4" />
      <path class="icon" transform="translate(5 4) scale(0.75)" d={iconPath("minus")} />
      <text class="node-note" x="22" y="14">
        {shortGroupName(group)}
      </text>
    </g>
  )
}

/** Around a node, and on to the next column where that has a node of the group too. */
function ground(node: PlacedNode, inside: readonly PlacedNode[]): string {
  const height = nodeHeight(node)
  const next = inside.find(
    (other) => other.x > node.x && other.x < node.x + 2 * nodeWidth && Math.abs(other.y - node.y) < height,
  )
  const width = (next === undefined ? nodeWidth : next.x - node.x) + 2 * pad
  return `M${node.x - pad} ${node.y - pad}h${width}v${height + 2 * pad}h${-width}z`
}

interface ClosedGroupProps {
  readonly node: PlacedNode
  /** The Tab key goes to it. */
  readonly isTabStop: boolean
  readonly group: Group
  readonly status: NodeStatus | undefined
  readonly onToggle: Toggle
}

/** A closed group: one node, which a click opens. */
export function ClosedGroup({ node, isTabStop, group, status, onToggle }: ClosedGroupProps) {
  const height = nodeHeight(node)
  const hasSelected = group.steps.includes(selection.value?.node ?? "")
  const hasChanged = group.steps.some((step) => wouldRun(step) !== null)
  const [first = "", last = ""] = [group.steps[0], group.steps.at(-1)]
  const classes = [
    "node kind-group",
    `is-${status?.state ?? "waiting"}`,
    status === undefined ? "planned" : "",
    hasSelected ? "has-selected" : "",
  ]
  return (
    <g
      class={classes.filter((one) => one !== "").join(" ")}
      transform={`translate(${node.x} ${node.y})`}
      role="button"
      tabindex={isTabStop ? 0 : -1}
      aria-expanded="false"
      aria-description={`A group, from ${first} to ${last}. Opens it`}
      data-group={group.id}
      {...presses(() => onToggle(group.id))}
    >
      <title>{`${node.name}: ${first} to ${last}`}</title>
      <rect class="box behind" x="5" y="5" width={nodeWidth} height={height} rx="4" />
      <rect class="box" width={nodeWidth} height={height} rx="4" />
      <rect class="stripe" width="3" height={height} rx="1.5" />
      {hasChanged ? <circle class="would-run-mark" cx={nodeWidth} cy="0" r="5" /> : null}
      <path class="icon" transform="translate(12 10) scale(0.875)" d={iconPath("group")} />
      <text class="node-name" x="32" y="21">
        {`${status === undefined ? node.name : shortGroupName(group)} `}
      </text>
      {status === undefined ? (
        <text class="node-note" x="12" y="43">
          {`${ends(first, last)} `}
        </text>
      ) : (
        <StatusView status={status} height={height} />
      )}
    </g>
  )
}

function shortGroupName({ count, shape }: Group): string {
  return `${count} ${shape === "row" ? "in a row" : "side by side"}`
}

/** `translate_1 … sum_up`: names that differ look different. */
function ends(first: string, last: string): string {
  const names = shortNames(
    [first, last].map((id) => ({ id, name: id.slice(id.indexOf(".") + 1) })),
    12,
  )
  return `${names.get(first) ?? ""} … ${names.get(last) ?? ""}`
}
