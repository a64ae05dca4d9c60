import { remembered } from "../base/remembered.ts"

/**
 * The nodes in an order in which each comes after all that it depends on; of those that could come next, the one that was
 * given first. Nodes in a circle are left out: the checker has refused those.
 */
export function topologicalOrder(
  nodes: readonly string[],
  dependencies: (node: string) => ReadonlySet<string>,
): string[] {
  const position = new Map(nodes.map((node, index) => [node, index]))
  const waiting = new Map<string, number>()
  const dependents = new Map<string, string[]>()
  const ready = new ReadyQueue()
  for (const [index, node] of nodes.entries()) {
    let count = 0
    for (const other of dependencies(node)) {
      if (!position.has(other)) continue
      count++
      remembered(dependents, other, () => []).push(node)
    }
    waiting.set(node, count)
    if (count === 0) ready.push(index)
  }
  const order: string[] = []
  for (let index = ready.pop(); index !== undefined; index = ready.pop()) {
    const node = nodes[index]
    if (node === undefined) continue
    order.push(node)
    for (const dependent of dependents.get(node) ?? []) {
      const count = (waiting.get(dependent) ?? 0) - 1
      waiting.set(dependent, count)
      const at = position.get(dependent)
      if (count === 0 && at !== undefined) ready.push(at)
    }
  }
  return order
}

/** A binary heap of positions, smallest first. */
class ReadyQueue {
  readonly #heap: number[] = []

  push(value: number): void {
    const heap = this.#heap
    let at = heap.push(value) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if ((heap[parent] ?? 0) <= value) break
      heap[at] = heap[parent] ?? 0
      at = parent
    }
    heap[at] = value
  }

  pop(): number | undefined {
    const heap = this.#heap
    const smallest = heap[0]
    const last = heap.pop()
    if (smallest === undefined || last === undefined || heap.length === 0) return smallest
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child++
      if ((heap[child] ?? 0) >= last) break
      heap[at] = heap[child] ?? 0
      at = child
    }
    heap[at] = last
    return smallest
  }
}
