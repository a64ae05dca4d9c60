/** The shortest way from a node back to itself, both ends included; just the node when there is none. */
export function shortestCycle<Node>(from: Node, next: (node: Node) => Iterable<Node>): Node[] {
  const before = new Map<Node, Node>()
  const queue = [from]
  for (const node of queue) {
    for (const other of next(node)) {
      if (other === from) {
        const back = [from]
        for (let at: Node | undefined = node; at !== undefined && at !== from; at = before.get(at)) back.push(at)
        return [...back, from].toReversed()
      }
      if (!before.has(other)) {
        before.set(other, node)
        queue.push(other)
      }
    }
  }
  return [from]
}
