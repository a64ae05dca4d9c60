import type { Type, TypeTable } from "./types.ts"

/** Written out in place, named schemas may grow the text to this; past it (each name used twice, and so on) no more. */
const mostNodes = 5_000
const deepest = 50

interface Size {
  readonly nodes: number
  readonly depth: number
}

/**
 * Which named schemas need a definition of their own: those that contain themselves, directly or through others. If
 * writing the rest out in place would make the text too large or too deep, all of them.
 */
export function namesToDefine(root: Type, types: TypeTable): ReadonlySet<string> {
  const graph = new Map<string, readonly string[]>()
  const waiting = namesIn(root)
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (graph.has(name)) continue
    const type = typeOf(name, types)
    const names = type === undefined ? [] : namesIn(type)
    graph.set(name, names)
    for (const inner of names) waiting.push(inner)
  }
  const components = stronglyConnected(graph)
  const recursive = new Set<string>()
  for (const component of components) {
    const [first] = component
    const selfish = component.length > 1 || (first !== undefined && graph.get(first)?.includes(first) === true)
    if (selfish) for (const name of component) recursive.add(name)
  }
  const sizes = new Map<string, Size>()
  // Components come innermost first, so that the sizes of all parts are known.
  for (const name of components.flat()) {
    const type = typeOf(name, types)
    if (type !== undefined) sizes.set(name, sizeOf(type, sizes, recursive, new Map()))
  }
  const whole = sizeOf(root, sizes, recursive, new Map())
  return whole.nodes > mostNodes || whole.depth > deepest ? new Set(graph.keys()) : recursive
}

function typeOf(name: string, types: TypeTable): Type | undefined {
  return Object.hasOwn(types, name) ? types[name]?.type : undefined
}

/** The types that this one is directly made of. */
function partsOf(type: Type): readonly Type[] {
  switch (type.kind) {
    case "array":
      return [type.element]
    case "tuple":
      return type.elements
    case "record":
      return type.fields.map((field) => field.type)
    case "union":
      return type.members
    case "variant":
      return type.cases.flatMap((one) => one.fields.map((field) => field.type))
    default:
      return []
  }
}

/** Schemas that the type mentions, each once. */
function namesIn(type: Type): string[] {
  const names = new Set<string>()
  const seen = new Set<Type>([type])
  // Grows while it is walked; a part that is shared is looked at once.
  for (const part of seen) {
    if (part.kind === "ref") names.add(part.name)
    else for (const inner of partsOf(part)) seen.add(inner)
  }
  return [...names]
}

function sizeOf(
  type: Type,
  sizes: ReadonlyMap<string, Size>,
  recursive: ReadonlySet<string>,
  known: Map<Type, Size>,
  level = 0,
): Size {
  if (type.kind === "ref") {
    const size = recursive.has(type.name) ? undefined : sizes.get(type.name)
    return { nodes: 1 + (size?.nodes ?? 0), depth: 1 + (size?.depth ?? 0) }
  }
  const before = known.get(type)
  if (before !== undefined || level > deepest) return before ?? { nodes: 1, depth: deepest }
  let nodes = type.kind === "variant" ? 1 + 2 * type.cases.length : 1
  let depth = 0
  for (const part of partsOf(type)) {
    const size = sizeOf(part, sizes, recursive, known, level + 1)
    nodes += size.nodes
    depth = Math.max(depth, size.depth)
  }
  const size = { nodes, depth: depth + 1 }
  known.set(type, size)
  return size
}

/** Tarjan's algorithm without recursion: groups of names that reach each other, innermost groups first. */
function stronglyConnected(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const isOpen = new Set<string>()
  const components: string[][] = []
  const lower = (name: string, to: number): void => {
    lowest.set(name, Math.min(lowest.get(name) ?? to, to))
  }
  const enter = (name: string): { name: string; next: number } => {
    lowest.set(name, order.size)
    order.set(name, order.size)
    open.push(name)
    isOpen.add(name)
    return { name, next: 0 }
  }
  for (const start of graph.keys()) {
    if (order.has(start)) continue
    const path = [enter(start)]
    for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
      const target = graph.get(step.name)?.[step.next++]
      if (target !== undefined) {
        const index = order.get(target)
        if (index === undefined) path.push(enter(target))
        else if (isOpen.has(target)) lower(step.name, index)
        continue
      }
      path.pop()
      const low = lowest.get(step.name) ?? 0
      const parent = path.at(-1)
      if (parent !== undefined) lower(parent.name, low)
      if (low === order.get(step.name)) {
        const component = open.splice(open.lastIndexOf(step.name))
        for (const name of component) isOpen.delete(name)
        components.push(component)
      }
    }
  }
  return components
}
