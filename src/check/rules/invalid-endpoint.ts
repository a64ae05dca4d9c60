import type * as Syntax from "../../syntax/tree.ts"
import { hasDotSegment } from "../../base/has-dot-segment.ts"
import { constantOf } from "../constants.ts"
import { literalsIn } from "../outcomes-of.ts"
import type { CheckContext } from "../check-context.ts"
import { checkEndpointQuery } from "./hardcoded-secret.ts"

/** An endpoint that is written out, or at least begins so. `demo` says what the word "demo" names there: "demo model" or "demo server". */
export function checkEndpoint(checking: CheckContext, node: Syntax.Expression, path: string, demo: string): void {
  if (node.kind === "group") return checkEndpoint(checking, node.expression, path, demo)
  if (node.kind === "default") {
    checkEndpoint(checking, node.left, path, demo)
    checkEndpoint(checking, node.right, path, demo)
  }
  if (node.kind !== "string") return
  const [text = ""] = node.texts
  const whole = node.interpolations.length === 0
  if (whole ? text !== "demo" && !isHttpUrl(text) : text !== "" && !/^https?:\/\//i.test(text)) {
    const message = "An endpoint is an address that begins with `http://` or `https://`"
    const hint = `Write one such as \`https://host.example/path\`, or \`"demo"\`, this service's own ${demo}.`
    checking.report("invalid-value", path, node, message, hint)
  } else if (holdsPassword(text)) {
    const hint = "Declare it in `secrets { }` and send it in `headers { }`."
    checking.report("hardcoded-secret", path, node, "A password is written into the endpoint", hint)
  } else checkDotSegments(checking, node, path)
  checkEndpointQuery(checking, node, path)
}

/** The endpoint of an `api`: paths and queries are added to it. */
export function checkBareEndpoint(checking: CheckContext, node: Syntax.Expression, path: string): void {
  for (const literal of literalsIn(node)) {
    if (!literal.texts.some((text) => /[?#]/.test(text))) continue
    const message = "The endpoint of an api has no query and no fragment: paths are added to it"
    checking.report(
      "invalid-value",
      path,
      literal,
      message,
      "Send what is in the query as an argument, or in `headers { }`.",
    )
  }
}

/** An address, or a model's id, which is a part of the address in some APIs. The run checks what is known then. */
export function checkDotSegments(checking: CheckContext, node: Syntax.Expression, path: string): void {
  const value = constantOf(node)
  if (typeof value !== "string" || !hasDotSegment(value)) return
  const message = "A segment `.` or `..` would lead to another path"
  checking.report("invalid-value", path, node, message, "Write the path without it.")
}

/** `https://user:password@host` */
function holdsPassword(url: string): boolean {
  const [authority = ""] = url.replace(/^https?:\/\//i, "").split(/[/?#]/, 1)
  const at = authority.lastIndexOf("@")
  return at > 0 && authority.slice(0, at).includes(":")
}

/** Portable code has no URL class: enough of its grammar to catch a slip; egress judges the whole address. */
export function isHttpUrl(text: string): boolean {
  const url = /^https?:\/\/(?:[^\s/?#@]*@)?(?:\[[0-9a-f:.]+\]|[^\s/?#@:[\]]+)(?::(\d{1,5}))?(?:[/?#]\S*)?$/i.exec(text)
  return url !== null && Number(url[1] ?? 0) < 65_536
}
