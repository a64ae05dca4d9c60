import { remembered } from "../base/remembered.ts"
import { isMadeOf } from "./type-parts.ts"
import type { Type, TypeTable } from "./types.ts"

const known = new WeakMap<TypeTable, WeakMap<Type, boolean>>()

/** Whether a value of the type may have a file in it. A value that is not typed is taken to have none. */
export function holdsFile(type: Type, types: TypeTable): boolean {
  if (type.kind === "file") return true
  const ofTable = remembered(known, types, () => new WeakMap<Type, boolean>())
  return remembered(ofTable, type, () => isMadeOf(type, ["file"], types))
}
