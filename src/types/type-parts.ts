import type { Type } from "./types.ts"

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
