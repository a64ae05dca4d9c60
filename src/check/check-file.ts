import type * as Syntax from "../syntax/tree.ts"
import { stringType } from "../types/primitives.ts"
import type { CheckContext } from "./check-context.ts"
import { expectProperty, infer } from "./infer.ts"
import { readableNull } from "./infer-text.ts"
import { refuseAsset } from "./misplaced-asset.ts"
import { refuseFileInText } from "./misplaced-file.ts"
import { expressionOf, readProperties } from "./properties.ts"
import type { Scope } from "./scope.ts"

/** `file { name, content, media_type }`, or short `file content { name, media_type }` */
export function checkFile(checking: CheckContext, property: Syntax.Property, scope: Scope): void {
  const path = `${scope.path}.file`
  const { value, name } = property
  if (value.kind === "missing") return
  if (value.kind !== "properties" && (value.kind !== "file" || property.colon !== undefined)) {
    const short = value.kind === "file" ? value.content : undefined
    const text = short && `Write \`file ${checking.quote(short)}\`, without the colon.`
    const hint = text === undefined ? undefined : ({ text, data: { kind: "surplus-colon" } } as const)
    const message = 'Expected a block: `file { name: "…" content: … }`'
    checking.report("type-mismatch", path, short ?? name, message, hint)
    return
  }
  const isShort = value.kind === "file"
  const inner: Scope = { ...scope, place: "a file" }
  const properties = readProperties(checking, isShort ? "short-file" : "file", value.block, path, name)
  const content = isShort ? value.content : expressionOf(checking, properties.get("content"), path)
  if (content !== undefined) checkContent(checking, content, { ...inner, path: `${path}.content` })
  checkTexts(checking, properties, inner, path)
  if (!properties.has("name") && (content !== undefined || !properties.has("content"))) {
    checkName(checking, content, value.block, property, path)
  }
}

/** Any value will do: what is not a string is written as JSON. */
function checkContent(checking: CheckContext, content: Syntax.Expression, scope: Scope): void {
  const type = infer(checking, content, scope)
  if (refuseAsset(checking, content, type, scope.path)) return
  if (!refuseFileInText(checking, content, type, { path: scope.path, assets: "none" }))
    readableNull(checking, content, type, scope.path, "file")
}

function checkTexts(
  checking: CheckContext,
  properties: ReadonlyMap<string, Syntax.Property>,
  scope: Scope,
  path: string,
): void {
  for (const name of ["name", "media_type"]) {
    expectProperty(checking, properties.get(name), stringType, path, { ...scope, path: `${path}.${name}` })
  }
}

function checkName(
  checking: CheckContext,
  content: Syntax.Expression | undefined,
  block: Syntax.Block<Syntax.Property> | undefined,
  { name }: Syntax.Property,
  path: string,
): void {
  if (content !== undefined && (content.kind === "missing-expression" || fileStem(content) !== undefined)) return
  if (block !== undefined && checking.skipped.isSwallowedIn(block, "name")) return
  const message =
    content === undefined
      ? "`name` is missing"
      : "`name` is missing: only content that is a path, such as `input.report`, or a text has a name of its own"
  checking.report("missing-property", `${path}.name`, name, message, 'Add `name: "…"`.')
}

/** What a file is called by default, without its extension: by the last name of the path that is its content; a text is a `file`. */
export function fileStem(content: Syntax.Expression): string | undefined {
  if (content.kind === "group") return fileStem(content.expression)
  if (content.kind === "string") return "file"
  if (content.kind !== "chain" || content.base.kind !== "name") return undefined
  const last = content.steps.findLast((step) => step.kind !== "index")
  const name = last === undefined ? content.base.text : last.name.text
  return name.replace(/[^\p{L}\p{N}_.-]+/gu, "_")
}
