import type { Type, TypeTable } from "./types.ts"

/** The types that this one is directly made of; those behind a name are not among them. */
export function partsOf(type: Type): readonly Type[] {
  switch (type.kind) {
    case "array":
      return [type.element]
    case "map":
      return [type.value]
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

/** Whether values of a type may have a part of one of these kinds; a type that is not known may. */
export function isMadeOf(type: Type | undefined, kinds: readonly Type["kind"][], types: TypeTable): boolean {
  if (type === undefined) return true
  const all = new Set<Type>([type])
  // A set goes on with what is added to it meanwhile.
  for (const one of all) {
    if (kinds.includes(one.kind)) return true
    const named = one.kind === "ref" ? types[one.name]?.type : undefined
    if (one.kind === "ref" && named === undefined) return true
    for (const part of named === undefined ? partsOf(one) : [named]) all.add(part)
  }
  return false
}

/** Whether something of it is known only when the workflow runs. */
export function isUntyped(type: Type | undefined, types: TypeTable): boolean {
  return isMadeOf(type, ["any", "object", "error"], types)
}

/** Schemas that the type mentions, each once. */
export function schemasIn(type: Type): string[] {
  const names = new Set<string>()
  const seen = new Set<Type>([type])
  // Grows while it is walked; a part that is shared is looked at once.
  for (const part of seen) {
    if (part.kind === "ref") names.add(part.name)
    else for (const inner of partsOf(part)) seen.add(inner)
  }
  return [...names]
}
