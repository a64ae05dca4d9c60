import type { GraphNode, Group } from "./graph-node.ts"

/** A group of fewer would save no room worth a click. */
const least = 4

/** Steps that are connected with the rest like a single one. */
interface Part {
  /** The place of its first step in the plan. */
  readonly at: number
  readonly shape: "step" | "row" | "side"
  readonly parts: readonly Part[]
  readonly id: string
  before: Set<Part>
  after: Set<Part>
}

/** Deeper nests than this are left as they are. */
const maxRounds = 8

/** The groups of a graph, outer ones first. The output belongs to none. Nodes come in an order in which they can run. */
export function groupsOf(nodes: readonly GraphNode[]): Group[] {
  let parts = withoutDetours(nodes.filter(({ kind }) => kind !== "output"))
  for (let round = 0, count = Infinity; round < maxRounds && parts.length < count; round++) {
    count = parts.length
    parts = sideBySide(inRows(parts))
  }
  const groups: Group[] = []
  for (const part of parts) collect(part, groups)
  return groups
}

/** The steps without the edges that a longer way makes needless: a chain whose steps all read its first one is a chain. */
function withoutDetours(nodes: readonly GraphNode[]): Part[] {
  const parts = new Map<string, Part>()
  /** A bit for each step that a step waits for, directly or not. */
  const waits = new Map<Part, bigint>()
  for (const [at, { id, depends_on }] of nodes.entries()) {
    const part: Part = { at, shape: "step", parts: [], id, before: new Set(), after: new Set() }
    parts.set(id, part)
    const direct = depends_on.flatMap((name) => parts.get(name) ?? [])
    const indirect = direct.reduce((all, one) => all | (waits.get(one) ?? 0n), 0n)
    waits.set(
      part,
      direct.reduce((all, one) => all | (1n << BigInt(one.at)), indirect),
    )
    for (const one of direct) {
      if (((indirect >> BigInt(one.at)) & 1n) === 1n) continue
      part.before.add(one)
      one.after.add(part)
    }
  }
  return [...parts.values()]
}

/** Joins parts that form a chain: each has only one successor, which has only one predecessor. */
function inRows(parts: readonly Part[]): Part[] {
  const next = (part: Part): Part | undefined => {
    const [only, ...others] = part.after
    return only !== undefined && others.length === 0 && only.before.size === 1 ? only : undefined
  }
  return parts.flatMap((part) => {
    const [before] = part.before
    if (before !== undefined && next(before) === part) return []
    const row = [part]
    for (let one = next(part); one !== undefined; one = next(one)) row.push(one)
    return join("row", row)
  })
}

/** Joins parts that wait for the same and are followed by the same. */
function sideBySide(parts: readonly Part[]): Part[] {
  const places = (some: ReadonlySet<Part>): string =>
    [...some]
      .map(({ at }) => at)
      .sort((one, other) => one - other)
      .join()
  const alike = Map.groupBy(parts, ({ before, after }) => `${places(before)} ${places(after)}`)
  return [...alike.values()].map((some) => join("side", some))
}

function join(shape: "row" | "side", parts: readonly Part[]): Part {
  const [first] = parts
  const last = parts.at(-1)
  if (first === undefined || last === undefined || parts.length === 1) return first as Part
  const inside = parts.flatMap((part) => (part.shape === shape ? part.parts : part))
  const joined: Part = { at: first.at, shape, parts: inside, id: first.id, before: first.before, after: last.after }
  const [ends, starts] = shape === "row" ? [[last], [first]] : [parts, parts]
  for (const other of joined.before) replace(other.after, starts, joined)
  for (const other of joined.after) replace(other.before, ends, joined)
  return joined
}

function replace(some: Set<Part>, old: readonly Part[], joined: Part): void {
  for (const part of old) some.delete(part)
  some.add(joined)
}

function collect(part: Part, groups: Group[]): void {
  if (part.shape === "side" && part.parts.length >= least) groups.push(groupOf("side", part.parts))
  let row: Part[] = []
  for (const one of [...part.parts, undefined]) {
    if (part.shape === "row" && one?.shape === "step") row.push(one)
    else {
      if (row.length >= least) groups.push(groupOf("row", row))
      row = []
      if (one !== undefined) collect(one, groups)
    }
  }
}

function groupOf(shape: "row" | "side", parts: readonly Part[]): Group {
  const steps = parts.flatMap(stepsOf).sort((one, other) => one.at - other.at)
  return { id: `${shape} ${steps[0]?.id ?? ""}`, shape, count: parts.length, steps: steps.map(({ id }) => id) }
}

function stepsOf(part: Part): Part[] {
  return part.shape === "step" ? [part] : part.parts.flatMap(stepsOf)
}

/** The group that is drawn in place of each hidden step: the outermost closed one. */
export function holdersOf(groups: readonly Group[], closed: ReadonlySet<string>): Map<string, Group> {
  const holders = new Map<string, Group>()
  for (const group of groups) {
    if (!closed.has(group.id)) continue
    for (const step of group.steps) if (!holders.has(step)) holders.set(step, group)
  }
  return holders
}

/** The graph with one node for each closed group. */
export function withClosed(nodes: readonly GraphNode[], holders: ReadonlyMap<string, Group>): GraphNode[] {
  const drawn = new Map<string, GraphNode>()
  for (const node of nodes) {
    const group = holders.get(node.id)
    const id = group?.id ?? node.id
    const outside = node.depends_on.map((from) => holders.get(from)?.id ?? from).filter((from) => from !== id)
    const depends_on = [...new Set([...(drawn.get(id)?.depends_on ?? []), ...outside])]
    drawn.set(
      id,
      group === undefined ? { ...node, depends_on } : { id, kind: "group", name: groupName(group), depends_on, group },
    )
  }
  return [...drawn.values()]
}

/** `40 steps in a row`, `3 branches side by side`. */
export function groupName({ shape, count, steps }: Group): string {
  if (shape === "row") return `${count} steps in a row`
  return `${count} ${steps.length === count ? "steps" : "branches"} side by side`
}
