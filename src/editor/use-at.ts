import type { Program } from "../check/program.ts"
import type { Declaration } from "../syntax/tree.ts"
import { eachNameIn } from "./each-name.ts"
import type { NameUse } from "./name-use.ts"

/** The name that the offset is in or beside; of two that touch, the one that begins there. */
export function useAt(program: Program, offset: number): NameUse | undefined {
  let found: NameUse | undefined
  for (const declaration of declarationsAt(program, offset)) {
    eachNameIn(program, declaration, (use) => {
      if (use.start <= offset && offset <= use.end && (found === undefined || use.start === offset)) found = use
    })
  }
  return found
}

/** The declarations that the offset is in or beside: one, or two that touch. */
export function declarationsAt(program: Program, offset: number): readonly Declaration[] {
  const { declarations } = program.tree
  let low = 0
  let high = declarations.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((declarations[middle]?.end ?? Infinity) < offset) low = middle + 1
    else high = middle
  }
  const found: Declaration[] = []
  for (let index = low; index < declarations.length; index++) {
    const declaration = declarations[index]
    if (declaration === undefined || declaration.start > offset) break
    found.push(declaration)
  }
  return found
}
