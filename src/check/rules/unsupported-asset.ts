import { expressionIn, propertyOf, wordOrString } from "../../syntax/property-of.ts"
import { isWordOf } from "../../syntax/property-table.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { assetKindsIn } from "../asset-kind.ts"
import type { CheckContext } from "../check-context.ts"
import type { AssetsIn } from "../program.ts"
import { apiOf, wireApiIn } from "../api-of.ts"
import { listed } from "../known-list.ts"
import { documentOptions, modelApis, providerKinds } from "../provider-kinds.ts"
import { outcomesOf } from "../outcomes-of.ts"
import { checkIgnoredOptions } from "./ignored-setting.ts"
import type { Scope } from "../scope.ts"

/** Reports the assets in an instruction, named or written there, of a kind that its model does not take. */
export function checkAssetsOfModel(
  checking: CheckContext,
  instruction: Syntax.Expression,
  model: Syntax.ModelDeclaration,
  scope: Scope,
): void {
  if (instruction.kind === "group") return checkAssetsOfModel(checking, instruction.expression, model, scope)
  if (instruction.kind !== "string") return
  const name = model.name.text
  const taken = assetsOfModel(model)
  const incomplete = checking.skipped.isIncomplete(model.body, "assets")
  const configured = new Set<AssetsIn["configured"]>()
  for (const shown of instruction.interpolations) {
    const assets = assetsIn(checking, shown, scope)
    configured.add(assets.configured)
    for (const kind of incomplete ? [] : assets.kinds) {
      if (taken.includes(kind) || !taken.every((word) => isWordOf("asset", word))) continue
      const message = `The model \`${name}\` does not take assets of type "${kind}"`
      if (kind === "audio" && deafApi(checking, model) !== undefined) {
        checking.report("unsupported-asset", scope.path, shown, message, audioHint)
        continue
      }
      const text = `Add "${kind}" to the \`assets\` of \`model ${name}\`.`
      const data = { kind: "asset", asset: kind, model: name } as const
      checking.report("unsupported-asset", scope.path, shown, message, { text, data })
    }
  }
  for (const assets of configured) for (const asset of assets) checkIgnoredOptions(checking, asset, model)
}

/** Reports `audio` in the `assets` of a model whose API has no form for it. */
export function checkListedAudio(checking: CheckContext, model: Syntax.ModelDeclaration, path: string): void {
  const list = expressionIn(model.body, "assets")
  const item = list?.kind === "array" ? list.items.find((one) => wordOrString(one) === "audio") : undefined
  const label = item && deafApi(checking, model)
  if (item === undefined || label === undefined) return
  const message = `${label} takes no assets of type "audio"`
  checking.report("unsupported-asset", `${path}.assets`, item, message, audioHint)
}

/** The name of the model's API where that takes no audio. */
function deafApi(checking: CheckContext, model: Syntax.ModelDeclaration): string | undefined {
  const provider = checking.providers.get(model.provider?.text ?? "")
  const api = provider && apiOf(provider, model)
  return api === undefined || modelApis[api].takesAudio ? undefined : modelApis[api].label
}

const hearing = [...providerKinds].filter(([, { api }]) => modelApis[api].takesAudio).map(([kind]) => kind)
const audioHint = `Audio goes to models of the kinds ${listed(hearing, hearing.length)}, and of \`openai\` with \`wire_api: "chat/completion"\`.`

/** The kinds that the `assets` of a model lists. One that transcribes takes audio in any case. */
export function assetsOfModel({ body }: Syntax.ModelDeclaration): string[] {
  const list = expressionIn(body, "assets")
  const listed = list?.kind === "array" ? list.items.flatMap((item) => wordOrString(item) ?? []) : []
  return wireApiIn(body) === "transcription" && !listed.includes("audio") ? [...listed, "audio"] : listed
}

const none: AssetsIn = { kinds: new Set(), configured: new Set() }

/** Values may be made of each other: a list of all assets would grow with the square of their number. */
const maxConfigured = 100

/** The assets that an expression (already inferred) may be. */
export function assetsIn(checking: CheckContext, expression: Syntax.Expression, scope: Scope): AssetsIn {
  const [first = none, ...others] = outcomesOf(expression).map((node) => assetsOf(checking, node, scope))
  if (others.length === 0) return first
  const kinds = new Set(first.kinds)
  const configured = new Set(first.configured)
  for (const other of others) {
    for (const kind of other.kinds) kinds.add(kind)
    for (const asset of configured.size < maxConfigured ? other.configured : []) configured.add(asset)
  }
  return { kinds, configured }
}

function assetsOf(checking: CheckContext, node: Syntax.Expression, scope: Scope): AssetsIn {
  if (node.kind === "asset") {
    const isConfigured = documentOptions.some((option) => propertyOf(node.block, option) !== undefined)
    return { kinds: assetKindsIn(node) ?? none.kinds, configured: isConfigured ? new Set([node]) : none.configured }
  }
  const root = node.kind === "chain" ? checking.roots.get(node) : undefined
  if (root?.kind !== "dynamic" && root?.kind !== "local") return none
  const values = root.kind === "dynamic" ? checking.dynamics : scope.agent?.locals
  return values?.get(root.name)?.assets ?? none
}
