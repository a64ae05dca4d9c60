import { meantWord } from "../../source/hint.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { CheckContext } from "../check-context.ts"
import type { Scope } from "../scope.ts"

/** A path in single braces, as templates of other languages have it. */
const braced = /(?<!\{)\$?\{\s*([A-Za-z_]\w*)((?:\.\w+)+)?\s*\}(?!\})/g

const roots = new Set(["input", "agent", "ask", "wait", "dynamic", "secrets"])

/** Tags of Jinja and ERB. */
const tag = /\{%[^%]{0,100}%\}|<%=?([^%]{0,100})%>/

/** Warns of `"{input.name}"` and `"${input.name}"`: the model would read the braces. */
export function suspiciousBraces(checking: CheckContext, node: Syntax.StringNode, scope: Scope): void {
  const written = checking.tree.text.slice(node.start, node.end)
  // `f"…"`: the parser has reported the prefix, and what is written instead.
  if (!/\{|<%/.test(written) || /\w/.test(checking.tree.text.charAt(node.start - 1))) return
  const tagged = tag.exec(written)
  if (tagged !== null) {
    const start = node.start + tagged.index
    const [whole, value] = tagged
    const hint =
      value === undefined
        ? "A text has values between `{{` and `}}`, no conditions and no loops."
        : meantWord(`{{ ${value.trim()} }}`)
    const span = { start, end: start + whole.length }
    checking.report("suspicious-braces", scope.path, span, `\`${whole}\` is plain text here`, hint)
  }
  for (const match of written.matchAll(braced)) {
    const [whole, root = "", rest = ""] = match
    const isVariable = scope.variables.has(root)
    if (!isVariable && (!roots.has(root) || rest === "")) continue
    const start = node.start + match.index
    const span = { start, end: start + whole.length }
    const hint = meantWord(`{{ ${root}${rest} }}`)
    checking.report("suspicious-braces", scope.path, span, `\`${whole}\` is plain text here`, hint)
  }
}
