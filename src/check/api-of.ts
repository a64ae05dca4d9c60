import type * as Syntax from "../syntax/tree.ts"
import { constantIn } from "./constants.ts"
import type { ApiName } from "./provider-kinds.ts"
import { providerKinds, wireApis } from "./provider-kinds.ts"

/** The API that a provider speaks; undefined where its kind is unknown. */
export function apiOf({ providerKind, body }: Syntax.ProviderDeclaration): ApiName | undefined {
  const kind = providerKinds.get(providerKind?.text ?? "")
  const written = constantIn(body, "wire_api")
  return (typeof written === "string" ? wireApis.get(written) : undefined) ?? kind?.api
}
