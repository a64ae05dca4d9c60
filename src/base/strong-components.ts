/**
 * The groups of nodes that reach each other (Tarjan's algorithm, without recursion, so that a long chain cannot exhaust
 * the stack). A group comes after all that it reaches, and within a group most nodes come after those they lead to;
 * what is independent comes in the order of `nodes`.
 */
export function strongComponents<Node>(nodes: Iterable<Node>, next: (node: Node) => Iterable<Node>): Node[][] {
  const indexes = new Map<Node, number>()
  const low = new Map<Node, number>()
  const onStack = new Set<Node>()
  const stack: Node[] = []
  const components: Node[][] = []

  for (const root of nodes) {
    if (indexes.has(root)) continue
    const work: { node: Node; rest: Iterator<Node> }[] = []
    const enter = (node: Node): void => {
      indexes.set(node, indexes.size)
      low.set(node, indexes.size - 1)
      stack.push(node)
      onStack.add(node)
      work.push({ node, rest: next(node)[Symbol.iterator]() })
    }
    const lower = (node: Node, to: number | undefined): void => {
      if (to !== undefined) low.set(node, Math.min(low.get(node) ?? to, to))
    }
    enter(root)
    for (let top = work.at(-1); top !== undefined; top = work.at(-1)) {
      const { node, rest } = top
      const step = rest.next()
      if (step.done !== true) {
        if (!indexes.has(step.value)) enter(step.value)
        else if (onStack.has(step.value)) lower(node, indexes.get(step.value))
        continue
      }
      work.pop()
      const parent = work.at(-1)
      if (parent !== undefined) lower(parent.node, low.get(node))
      if (low.get(node) !== indexes.get(node)) continue
      const component = stack.splice(stack.lastIndexOf(node)).reverse()
      for (const member of component) onStack.delete(member)
      components.push(component)
    }
  }
  return components
}
