import type * as Syntax from "../syntax/tree.ts"

const ownWork: ReadonlySet<Syntax.Declaration["kind"]> = new Set(["agent", "ask", "dynamic", "output", "test", "tests"])

/** Whether a file has neither steps nor an output (nor tests): it declares for other files. */
export function isLibrary({ declarations }: Syntax.Tree): boolean {
  return !declarations.some(({ kind }) => ownWork.has(kind))
}
