import { strongComponents } from "../base/strong-components.ts"
import { partsOf, schemasIn } from "./type-parts.ts"
import type { Type, TypeTable } from "./types.ts"

/** Written out in place, named schemas may grow the text to this; past it (each name used twice, and so on) no more. */
const maxNodes = 5_000
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
  const waiting = schemasIn(root)
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (graph.has(name)) continue
    const type = typeOf(name, types)
    const names = type === undefined ? [] : schemasIn(type)
    graph.set(name, names)
    for (const inner of names) waiting.push(inner)
  }
  const components = strongComponents(graph.keys(), (name) => graph.get(name) ?? [])
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
  return whole.nodes > maxNodes || whole.depth > deepest ? new Set(graph.keys()) : recursive
}

function typeOf(name: string, types: TypeTable): Type | undefined {
  return Object.hasOwn(types, name) ? types[name]?.type : undefined
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
