import { mayBeLeftOut } from "../../types/relations.ts"
import { partsOf } from "../../types/type-parts.ts"
import type { NamedType, RecordType, Type, TypeTable } from "../../types/types.ts"

/** The types of one workflow's input and output, and of the answers to its questions. */
export interface WorkflowTypes {
  readonly name: string
  readonly description: string | null
  readonly input: RecordType
  readonly output: RecordType
  /** By the names of its questions: the answers. */
  readonly answers: RecordType
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

/** The schemas of one side of a workflow, with their names. */
export interface SideNames {
  /** Fields of an input may be left out where they have a default, or may be null. */
  readonly isInput: boolean
  readonly names: ReadonlyMap<string, string>
}

/** The named schemas that the input and the output use. One of both has two types where a field of the input may be left out. */
export function schemaNames(
  workflow: Pick<WorkflowTypes, "input" | "output" | "types">,
  own: string,
  names: UniqueNames,
): readonly [SideNames, SideNames] {
  const { input, output, types } = workflow
  const [given, made] = [usedSchemas(input, types), usedSchemas(output, types)]
  const isOptional = given.some((name) => leavesOut(types[name]?.type, types))
  const inputs = new Map<string, string>()
  const outputs = new Map<string, string>()
  for (const name of given) {
    const isTwofold = isOptional && made.includes(name)
    inputs.set(name, isTwofold ? names.take(own, name, "Input") : names.take(own, name))
    if (!isTwofold && made.includes(name)) outputs.set(name, inputs.get(name) ?? "")
  }
  for (const name of made) if (!outputs.has(name)) outputs.set(name, names.take(own, name))
  return [
    { isInput: true, names: inputs },
    { isInput: false, names: outputs },
  ]
}

/** The schemas that are declared, each once. */
export function* declaredSchemas(
  { types }: WorkflowTypes,
  sides: readonly SideNames[],
): Generator<readonly [SideNames, string, NamedType]> {
  const seen = new Set<string>()
  for (const side of sides) {
    for (const [schema, name] of side.names) {
      const named = Object.hasOwn(types, schema) ? types[schema] : undefined
      if (named === undefined || seen.has(name)) continue
      seen.add(name)
      yield [side, name, named]
    }
  }
}

function leavesOut(type: Type | undefined, types: TypeTable): boolean {
  const seen = new Set(type === undefined ? [] : [type])
  for (const part of seen) {
    // A caller gives a file otherwise than the service.
    if (part.kind === "file") return true
    if (part.kind === "record" && part.fields.some((field) => mayBeLeftOut(field, types))) return true
    if (
      part.kind === "variant" &&
      part.cases.some(({ fields }) => fields.some((field) => mayBeLeftOut(field, types)))
    ) {
      return true
    }
    for (const inner of partsOf(part)) seen.add(inner)
  }
  return false
}

/** In the order of their first mention. */
function usedSchemas(root: Type, types: TypeTable): string[] {
  const found = new Set<string>()
  const open: Type[] = [root]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    switch (next.kind) {
      case "array":
        open.push(next.element)
        break
      case "map":
        open.push(next.value)
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
