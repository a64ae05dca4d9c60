import { signal } from "@preact/signals"
import type { Placed, PlacedNode } from "./graph-layout.ts"

/** The node that last had the focus: the Tab key goes to one node of the graph, and arrows to the others. */
export const lastFocused = signal<string | null>(null)

export function tabStopOf({ nodes }: Placed): string | undefined {
  return nodes.find(({ id }) => id === lastFocused.value)?.id ?? nodes[0]?.id
}

/** Which way a key leads, as x and y. */
const ways: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** The node that a key leads to from another; undefined where there is none in this direction. */
export function nextNode(nodes: readonly PlacedNode[], from: string, key: string): string | undefined {
  if (key === "Home") return nodes[0]?.id
  if (key === "End") return nodes.at(-1)?.id
  const start = nodes.find(({ id }) => id === from)
  const way = ways[key]
  if (start === undefined || way === undefined) return undefined
  const [x, y] = way
  let best: { readonly id: string; readonly distance: number } | undefined
  for (const node of nodes) {
    const [right, down] = [node.x - start.x, node.y - start.y]
    const along = right * x + down * y
    const aside = Math.abs(right * y) + Math.abs(down * x)
    if (along <= 0) continue
    // What lies straight ahead comes before what is near and aside.
    const distance = along + 2 * aside
    if (best === undefined || distance < best.distance) best = { id: node.id, distance }
  }
  return best?.id
}
