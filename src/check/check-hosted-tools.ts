import { wordOrString } from "../syntax/property-of.ts"
import { hostedType, hostedTypes } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { apiOf } from "./api-of.ts"
import { checkKeys, constantOf, notConstant } from "./constants.ts"
import type { CheckContext } from "./check-context.ts"
import { clearedField } from "./hosted-tools.ts"
import { expressionOf } from "./properties.ts"
import { modelApis } from "./provider-kinds.ts"
import { checkArgumentSecret } from "./rules/hardcoded-secret.ts"
import type { CalledModel } from "./rules/ignored-setting.ts"

const example = '`[{ type: "web_search" }]`'
const entryRule = { expected: "a value", type: "object" } as const
const known = `Known are ${hostedTypes.map((type) => `\`${type}\``).join(", ")}, also with the date or version that a vendor adds.`

/** `hosted_tools: [{ type: "web_search" }]` of an agent or a model; `called` are the models that it goes to. */
export function checkHostedTools(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  called: readonly CalledModel[],
): void {
  const list = expressionOf(checking, property, path)
  if (property === undefined || list === undefined || list.kind === "missing-expression") return
  const own = `${path}.hosted_tools`
  if (list.kind !== "array") {
    const message = `Expected a list of tools that is written out, such as ${example}`
    checking.report("type-mismatch", own, list, message)
  } else for (const [at, item] of list.items.entries()) checkEntry(checking, item, `${own}[${at}]`)
  const without = called
    .flatMap(({ provider, model }) => apiOf(provider, model) ?? [])
    .find((api) => !modelApis[api].hostsTools)
  if (without === undefined) return
  const message = `\`hosted_tools\` is not sent: ${modelApis[without].label} has no such setting`
  checking.report("ignored-setting", own, property.name, message, "Remove it, or use a model of another API.")
}

function checkEntry(checking: CheckContext, item: Syntax.Expression, path: string): void {
  if (item.kind === "missing-expression") return
  if (item.kind !== "object") {
    const message = `Expected a tool such as \`{ type: "web_search" }\`, found ${checking.quote(item)}`
    return checking.report("type-mismatch", path, item, message)
  }
  checkKeys(checking, item, path)
  for (const { name, value } of item.body.items) {
    const field = `${path}.${name.text}`
    if (name.text === clearedField) checkCleared(checking, value, field)
    else if (constantOf(value) === undefined) notConstant(checking, value, field, entryRule)
    else checkArgumentSecret(checking, name.text, value, field, "extra")
  }
  const type = item.body.items.find(({ name }) => name.text === "type")?.value
  const written = type && constantOf(type)
  if (type !== undefined && written === undefined) return
  if (typeof written === "string" && hostedType(written) !== undefined) return
  const shown = type === undefined ? "`type` is missing" : `Unknown type of hosted tool: ${checking.quote(type)}`
  checking.report("invalid-value", `${path}.type`, type ?? item, shown, known)
}

function checkCleared(checking: CheckContext, value: Syntax.Expression, path: string): void {
  if (value.kind === "missing-expression" || wordOrString(value) === "private") return
  checking.report("invalid-value", path, value, `Unknown label: ${checking.quote(value)}`, "Known are `private`.")
}
