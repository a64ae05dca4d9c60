import type * as Syntax from "../syntax/tree.ts"
import type { Field } from "../types/types.ts"
import { isForeign } from "./file-space.ts"
import type { Program } from "./program.ts"

type FieldNode = Syntax.TypeField | Syntax.ValueField

/** Where the fields of another file are written, with offsets of the stretch that this use of the file has. Each node is copied once. */
export function foreignNodes({ fieldNodes }: Program, base: number): (own: Field) => FieldNode | undefined {
  const copies = new Map<FieldNode, FieldNode>()
  return (own) => {
    const node = fieldNodes.get(own)
    if (node === undefined || isForeign(node.name)) return node
    const { name, start, end } = node
    const copy = copies.get(node) ?? {
      ...node,
      name: { ...name, start: name.start + base, end: name.end + base },
      start: start + base,
      end: end + base,
    }
    copies.set(node, copy)
    return copy
  }
}
