import { selection } from "../state/selection.ts"
import type { Placed, Room } from "./graph-layout.ts"
import { nodeHeight, nodeWidth } from "./graph-layout.ts"
import { drawnNode, statusesOf } from "./graph-model.ts"

/** Which part of the drawing is seen: where its corner is on the screen, and how large it is drawn. */
export interface View {
  readonly x: number
  readonly y: number
  readonly zoom: number
}

const mapWidth = 144
const mapHeight = 96
const leastWidth = 16

interface MinimapProps {
  readonly placed: Placed
  readonly view: View
  readonly room: Room
  readonly onMove: (x: number, y: number) => void
}

/** The whole graph in a corner, as soon as a part of it is out of view. For the mouse: arrows and the search do the same by keyboard. */
export function Minimap({ placed, view, room, onMove }: MinimapProps) {
  const { nodes, width, height } = placed
  const right = view.x + width * view.zoom
  const bottom = view.y + height * view.zoom
  const isWhole = view.x >= -1 && view.y >= -1 && right <= room.width + 1 && bottom <= room.height + 1
  if (nodes.length < 2 || isWhole || room.width < 320) return null
  const scale = Math.min(mapWidth / width, mapHeight / height)
  // A single long column would be a line.
  if (width * scale < leastWidth) return null
  const statuses = statusesOf(placed)
  const selected = drawnNode(placed, selection.value?.node)
  const move = (event: PointerEvent): void => {
    const element = event.currentTarget
    if (!(element instanceof Element) || event.buttons === 0) return
    const bounds = element.getBoundingClientRect()
    onMove((event.clientX - bounds.left) / scale, (event.clientY - bounds.top) / scale)
  }
  return (
    <svg
      class="minimap"
      aria-hidden="true"
      width={width * scale}
      height={height * scale}
      viewBox={`0 0 ${width} ${height}`}
      onPointerDown={move}
      onPointerMove={move}
    >
      {nodes.map((node) => {
        const status = statuses.get(node.id)
        const name = status === undefined ? "planned" : `is-${status.state}`
        return (
          <rect
            key={node.id}
            class={node === selected ? `${name} selected` : name}
            x={node.x}
            y={node.y}
            width={nodeWidth}
            height={nodeHeight(node)}
          />
        )
      })}
      <rect
        class="seen"
        x={-view.x / view.zoom}
        y={-view.y / view.zoom}
        width={room.width / view.zoom}
        height={room.height / view.zoom}
      />
    </svg>
  )
}
