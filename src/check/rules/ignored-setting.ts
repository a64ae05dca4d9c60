import type * as Syntax from "../../syntax/tree.ts"
import { propertyOf } from "../../syntax/property-of.ts"
import { apiOf } from "../api-of.ts"
import { assetKindsIn } from "../asset-kind.ts"
import type { CheckContext } from "../check-context.ts"
import { checkReservedSettings } from "./reserved-setting.ts"
import { documentOptions, ignoredByOpenAiChat, modelApis, providerKinds } from "../provider-kinds.ts"

/** A model as it is called: the API is the model's own or its provider's. */
export interface CalledModel {
  readonly provider: Syntax.ProviderDeclaration
  readonly model: Syntax.ModelDeclaration | undefined
}

/** Settings in an `inference` block that the API of one of the models does not have. */
export function checkIgnoredSettings(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  called: readonly CalledModel[],
): void {
  if (property?.value.kind !== "properties") return
  const apis = called.flatMap(({ provider, model }) => apiOf(provider, model) ?? [])
  checkReservedSettings(checking, property.value.block, path, apis)
  const ignored = new Map(called.map(ignoredBy))
  for (const { name } of property.value.block.items) {
    const without = [...ignored].find(([, settings]) => settings.includes(name.text))
    if (without === undefined) continue
    const message = `\`${name.text}\` is not sent: ${without[0]} has no such setting`
    const hint = "Remove it, or write the field of the backend in `extra { }`."
    checking.report("ignored-setting", `${path}.${name.text}`, name, message, hint)
  }
}

/** The name of the API by which a model is called, and the settings that it does not have. */
function ignoredBy({ provider, model }: CalledModel): readonly [string, readonly string[]] {
  const api = apiOf(provider, model)
  if (api === undefined) return ["", []]
  const { label, ignores } = modelApis[api]
  return [label, api === "chat" && callsOpenAi(provider) ? ignoredByOpenAiChat : ignores]
}

/** Options of an asset that the API of a model that it goes to does not have, or not for assets of its kind. */
export function checkIgnoredOptions(
  checking: CheckContext,
  asset: Syntax.AssetNode,
  model: Syntax.ModelDeclaration,
): void {
  const provider = checking.providers.get(model.provider?.text ?? "")
  const api = provider && apiOf(provider, model)
  if (api === undefined) return
  const { label, documentOptions: known } = modelApis[api]
  const kinds = assetKindsIn(asset)
  for (const option of documentOptions) {
    const property = propertyOf(asset.block, option)
    if (property === undefined || checking.ignoredOptions.has(property)) continue
    const isKnown = known.includes(option)
    if (isKnown && (kinds === undefined || kinds.size === 0 || kinds.has("document"))) continue
    checking.ignoredOptions.add(property)
    const why = isKnown ? `${label} has it for documents only` : `${label} has no such option`
    const path = `${checking.assetPaths.get(asset) ?? ""}.${option}`
    checking.report("ignored-setting", path, property.name, `\`${option}\` is not sent: ${why}`, "Remove it.")
  }
}

function callsOpenAi({ providerKind, body }: Syntax.ProviderDeclaration): boolean {
  const kind = providerKinds.get(providerKind?.text ?? "")
  return (
    kind?.endpoint === providerKinds.get("openai")?.endpoint && !body.items.some(({ name }) => name.text === "endpoint")
  )
}
