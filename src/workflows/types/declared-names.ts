import type { RecordType, Type, TypeTable } from "../../types/types.ts"

/** The types of one workflow's input and output. */
export interface WorkflowTypes {
  readonly name: string
  readonly description: string | null
  readonly input: RecordType
  readonly output: RecordType
  readonly types: TypeTable
}

/** Gives each thing a name that no other thing has: `TicketsTriage`, `TicketsTriage2`. */
export class UniqueNames {
  readonly #taken = new Set<string>()

  take(...words: readonly string[]): string {
    const wanted = words
      .join("/")
      .split(/[^A-Za-z0-9]+/)
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join("")
    const base = /^[A-Za-z]/.test(wanted) ? wanted : `W${wanted}`
    let name = base
    for (let n = 2; this.#taken.has(name); n++) name = `${base}${n}`
    this.#taken.add(name)
    return name
  }
}

/** The named schemas that the input and output use, in the order of their first mention. */
export function usedSchemas({ input, output, types }: WorkflowTypes): string[] {
  const found = new Set<string>()
  const open: Type[] = [output, input]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    switch (next.kind) {
      case "array":
        open.push(next.element)
        break
      case "tuple":
        open.push(...next.elements.toReversed())
        break
      case "record":
        open.push(...next.fields.map(({ type }) => type).toReversed())
        break
      case "union":
        open.push(...next.members.toReversed())
        break
      case "variant":
        open.push(...next.cases.flatMap(({ fields }) => fields.map(({ type }) => type)).toReversed())
        break
      case "ref": {
        if (found.has(next.name)) break
        found.add(next.name)
        const named = Object.hasOwn(types, next.name) ? types[next.name] : undefined
        if (named !== undefined) open.push(named.type)
        break
      }
      default:
    }
  }
  return [...found]
}
