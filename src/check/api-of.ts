import type { Properties } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { constantIn } from "./constants.ts"
import { wireApis, providerKinds, type ApiName } from "./provider-kinds.ts"

/** The API by which a provider, or one of its models, is called; undefined where the kind is unknown. */
export function apiOf(provider: Syntax.ProviderDeclaration, model?: Syntax.ModelDeclaration): ApiName | undefined {
  const kind = providerKinds.get(provider.providerKind?.text ?? "")
  return wireApiIn(model?.body) ?? wireApiIn(provider.body) ?? kind?.api
}

/** The API that `wire_api` names. */
export function wireApiIn(block: Properties | undefined): ApiName | undefined {
  const written = constantIn(block, "wire_api")
  return typeof written === "string" ? wireApis.get(written) : undefined
}
