/** Where the map is: tools are in the fourth corner. */
export type Corner = "bottom-left" | "top-right" | "top-left"

/** A place on the screen, within the pane. */
export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const corners: readonly Corner[] = ["bottom-left", "top-right", "top-left"]

/** Between the map and the edges of the pane. */
const gap = 8

/** The corner in which the map covers no node. It stays where it is as long as it covers nothing there, or no corner is better. */
export function freeCorner(
  current: Corner,
  nodes: readonly Box[],
  map: Pick<Box, "width" | "height">,
  room: Pick<Box, "width" | "height">,
): Corner {
  const isFree = (corner: Corner): boolean => {
    const x = corner.endsWith("left") ? gap : room.width - gap - map.width
    const y = corner.startsWith("top") ? gap : room.height - gap - map.height
    return nodes.every(
      (node) =>
        node.x >= x + map.width || node.x + node.width <= x || node.y >= y + map.height || node.y + node.height <= y,
    )
  }
  return isFree(current) ? current : (corners.find(isFree) ?? current)
}
