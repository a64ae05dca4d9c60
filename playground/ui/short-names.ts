interface Named {
  readonly id: string
  readonly name: string
}

/** Each node's name in at most this many characters, by id: different names stay different. */
export function shortNames(nodes: readonly Named[], most: number): Map<string, string> {
  const short = new Map<string, string>()
  const groups = new Map<string, Named[]>()
  for (const node of nodes) {
    const text = cutMiddle(node.name, most)
    groups.set(text, [...(groups.get(text) ?? []), node])
  }
  for (const [text, group] of groups) {
    const names = [...new Set(group.map(({ name }) => name))]
    // Names that differ only in what was cut show the place where they differ.
    const from = names.length === 1 ? 0 : commonStart(names)
    for (const { id, name } of group) short.set(id, names.length === 1 ? text : cutAt(name, from, most))
  }
  return short
}

/** Each node's id in at most this many characters; one that is longer is shown by its name alone. */
export function shortIds(nodes: readonly Named[], most: number): Map<string, string> {
  const names = shortNames(nodes, most)
  return new Map(nodes.map(({ id, name }) => [id, id.length <= most ? id : (names.get(id) ?? name)]))
}

/** The same for the name of a single row (`agent.write`, `workflow.draft[0]`). */
export function shortLabel(label: string, most: number): string {
  return label.length <= most ? label : label.replace(/^[a-z]+\.(?=\w)/, "")
}

/** The first and the last characters: both ends of a name tell it apart. */
function cutMiddle(name: string, most: number): string {
  if (name.length <= most) return name
  const tail = Math.floor((most - 1) / 2)
  return `${name.slice(0, most - 1 - tail)}…${name.slice(name.length - tail)}`
}

/** A few characters of its start, then what stands from the place on. */
function cutAt(name: string, place: number, most: number): string {
  const head = 4
  const rest = name.slice(Math.max(head, place - 2))
  const room = most - head - 1
  return `${name.slice(0, head)}…${rest.length <= room ? rest : `${rest.slice(0, room - 1)}…`}`
}

function commonStart(names: readonly string[]): number {
  const [first = "", ...others] = names
  let at = 0
  while (at < first.length && others.every((other) => other[at] === first[at])) at++
  return at
}
