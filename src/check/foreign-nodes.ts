import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Field } from "../types/types.ts"
import { isForeign } from "./file-space.ts"
import type { Program } from "./program.ts"

type FieldNode = Syntax.TypeField | Syntax.ValueField

/** Where the fields of another file are written, with offsets of the stretch that the file has. Each node is copied once. */
export function foreignNodes({ fieldNodes }: Program, base: number): (own: Field) => FieldNode | undefined {
  const copies = new Map<FieldNode, FieldNode>()
  return (own) => {
    const node = fieldNodes.get(own)
    if (node === undefined || isForeign(node.name)) return node
    const copy = copies.get(node) ?? moved({ ...node, name: moved(node.name, base) }, base)
    copies.set(node, copy)
    return copy
  }
}

/** The same for a variant, with its tag and its cases. */
export function foreignVariant(node: Syntax.VariantType, base: number): Syntax.VariantType {
  if (isForeign(node)) return node
  const items = node.body.items.map((one) => moved({ ...one, name: moved(one.name, base) }, base))
  return moved({ ...node, tag: moved(node.tag, base), body: { ...node.body, items } }, base)
}

function moved<Part extends Span>(part: Part, by: number): Part {
  return { ...part, start: part.start + by, end: part.end + by }
}
