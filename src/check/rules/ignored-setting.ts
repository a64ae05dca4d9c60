import type * as Syntax from "../../syntax/tree.ts"
import { apiOf } from "../api-of.ts"
import type { CheckContext } from "../check-context.ts"
import type { ApiName } from "../provider-kinds.ts"
import { ignoredByOpenAiChat, ignoredSettings, providerKinds } from "../provider-kinds.ts"

const names: Readonly<Record<ApiName, string>> = {
  responses: "OpenAI's `/responses` API",
  chat: "OpenAI's chat completions API",
  anthropic: "Anthropic's API",
  google: "Google's API",
}

/** Settings in an `inference` block that the provider's API does not have. */
export function checkIgnoredSettings(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  provider: Syntax.ProviderDeclaration | undefined,
): void {
  if (provider === undefined || property?.value.kind !== "properties") return
  const api = apiOf(provider)
  if (api === undefined) return
  const ignored = api === "chat" && callsOpenAi(provider) ? ignoredByOpenAiChat : ignoredSettings[api]
  for (const { name } of property.value.block.items) {
    if (!ignored.includes(name.text)) continue
    const message = `\`${name.text}\` is not sent: ${names[api]} has no such setting`
    const hint = "Remove it, or write the field of the backend in `extra { }`."
    checking.report("ignored-setting", `${path}.${name.text}`, name, message, hint)
  }
}

function callsOpenAi({ providerKind, body }: Syntax.ProviderDeclaration): boolean {
  const kind = providerKinds.get(providerKind?.text ?? "")
  return (
    kind?.endpoint === providerKinds.get("openai")?.endpoint && !body.items.some(({ name }) => name.text === "endpoint")
  )
}
