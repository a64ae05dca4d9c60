import type { Expression, FunctionNode } from "./tree.ts"

interface MapPair {
  readonly key: Expression
  readonly value: Expression
}

/** The keys and values of `{ [key]: value }`. */
export function mapPairs({ form, items: [made] }: FunctionNode): readonly MapPair[] {
  const pairs = form !== "map" ? [] : made?.kind === "list" ? [made.value] : made?.kind === "array" ? made.items : []
  return pairs.flatMap((pair) => {
    const [key, value] = pair.kind === "object" ? pair.body.items : []
    return key === undefined || value === undefined ? [] : [{ key: key.value, value: value.value }]
  })
}
