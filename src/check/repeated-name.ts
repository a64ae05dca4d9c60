import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"

/** Enters a name into those of its block; reports one that is there already, or that no object may have. */
export function isRepeated(checking: Checking, seen: Set<string>, name: Syntax.Name, path: string): boolean {
  if (name.text === "__proto__") {
    checking.report("invalid-value", path, name, "`__proto__` cannot be a field name", "Choose another name.")
    return true
  }
  if (!seen.has(name.text)) {
    seen.add(name.text)
    return false
  }
  checking.report("duplicate-field", path, name, `\`${name.text}\` is here already`, "Remove or rename one.")
  return true
}
