import type * as Syntax from "../syntax/tree.ts"
import { numberType, stringType } from "../types/primitives.ts"
import { checkValue } from "./check-asks.ts"
import type { CheckContext } from "./check-context.ts"
import { checkStep, judgedType } from "./check-steps.ts"
import { expectProperty, infer } from "./infer.ts"
import { expressionOf, isComputed, readProperties } from "./properties.ts"
import { at, type Scope } from "./scope.ts"

// `wait paid { … }`: ends at a time, or when somebody sends an event.

export function checkWaits(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind !== "wait") continue
    checkStep(
      checking,
      declaration,
      checking.waits,
      "a wait",
      () => new Map(),
      (scope) => checkBody(checking, declaration, scope),
    )
  }
}

const kinds = ["seconds", "until", "event"]
/** Mean nothing to a wait for a time. */
const ofEvents = ["key", "output", "expires_seconds", "on_expiry", "gives"]

function checkBody(checking: CheckContext, declaration: Syntax.WaitDeclaration, scope: Scope): void {
  const { path } = scope
  const properties = readProperties(checking, "wait", declaration.body, path, declaration.name)
  checkKind(checking, declaration, properties, path)
  for (const name of ["seconds", "expires_seconds"]) {
    const seconds = properties.get(name)
    if (seconds !== undefined && isComputed(seconds.value)) {
      expectProperty(checking, seconds, numberType, path, at(scope, name))
    }
  }
  for (const name of ["until", "key"]) {
    expectProperty(checking, properties.get(name), stringType, path, at(scope, name))
  }
  const data = judgedType(checking.waits, declaration)
  checkValue(checking, properties.get("on_expiry"), data.kind === "error" ? undefined : data, at(scope, "on_expiry"))
  checkAfter(checking, properties.get("after"), at(scope, "after"))
}

/** Exactly one of `seconds`, `until` and `event`, and with the first two nothing that belongs to events. */
function checkKind(
  checking: CheckContext,
  { name, body }: Syntax.WaitDeclaration,
  properties: ReadonlyMap<string, Syntax.Property>,
  path: string,
): void {
  const [kind, ...others] = kinds.filter((one) => properties.has(one))
  if (checking.skipped.hasError(name) || kinds.some((one) => checking.skipped.isSwallowedIn(body, one))) return
  if (kind === undefined) {
    const message = "`seconds`, `until` or `event` is missing"
    checking.report("missing-property", `${path}.seconds`, name, message, "Add `seconds: 60`.")
    return
  }
  const refuse = (property: string, message: string): void => {
    const span = properties.get(property)?.name ?? name
    checking.report("conflicting-properties", `${path}.${property}`, span, message, "Remove one of the two.")
  }
  for (const other of others) refuse(other, `A wait has \`${kind}\` or \`${other}\`, not both`)
  if (properties.has("event")) {
    if (properties.has("output") || checking.skipped.isSwallowedIn(body, "output")) return
    checking.report("missing-property", `${path}.output`, name, "`output` is missing", "Add `output { … }`.")
    return
  }
  for (const other of ofEvents) {
    if (properties.has(other))
      refuse(other, `\`${other}\` belongs to a wait for an event, and this one has \`${kind}\``)
  }
}

const stepRoots = ["agent", "ask", "wait", "dynamic"]

/** A step, or a list of them. What they give is of no account here. */
function checkAfter(checking: CheckContext, property: Syntax.Property | undefined, scope: Scope): void {
  const expression = expressionOf(checking, property, scope.path.slice(0, scope.path.lastIndexOf(".")))
  if (expression === undefined || expression.kind === "missing-expression") return
  for (const item of expression.kind === "array" ? expression.items : [expression]) {
    infer(checking, item, scope)
    if (item.kind === "missing-expression") continue
    const isStep =
      item.kind === "chain" &&
      item.base.kind === "name" &&
      stepRoots.includes(item.base.text) &&
      !scope.variables.has(item.base.text) &&
      item.steps.length === 1 &&
      item.steps[0]?.kind === "field"
    if (isStep) continue
    const hint = "Name the step alone, such as `agent.offer`, or a list of steps."
    checking.report("type-mismatch", scope.path, item, "`after` takes steps", hint)
  }
}
