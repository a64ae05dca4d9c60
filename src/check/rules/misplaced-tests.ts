import type { CheckContext } from "../check-context.ts"

/** In a workflow: tests belong elsewhere. */
export function refuseTests(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind !== "test" && declaration.kind !== "tests") continue
    const hint = "Move it to a file beside this one whose name ends in `.test.wire`."
    checking.report("misplaced-declaration", declaration.kind, declaration.keyword, "A workflow holds no tests", hint)
  }
}
