import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"

/** Enters a name into those of its block; reports one that is there already. */
export function declareUnique(checking: CheckContext, seen: Set<string>, name: Syntax.Name, path: string): boolean {
  if (!seen.has(name.text)) {
    seen.add(name.text)
    return false
  }
  checking.report("duplicate-field", path, name, `\`${name.text}\` is here already`, "Remove or rename one.")
  return true
}

/** Reports a name that no field of an object may have. */
export function refuseKey(checking: CheckContext, name: Syntax.Name, path: string): boolean {
  if (name.text !== "__proto__") return false
  checking.report("invalid-value", path, name, "`__proto__` cannot be a field name", "Choose another name.")
  return true
}
