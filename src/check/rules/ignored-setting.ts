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
  return [names[api], api === "chat" && callsOpenAi(provider) ? ignoredByOpenAiChat : ignoredSettings[api]]
}

function callsOpenAi({ providerKind, body }: Syntax.ProviderDeclaration): boolean {
  const kind = providerKinds.get(providerKind?.text ?? "")
  return (
    kind?.endpoint === providerKinds.get("openai")?.endpoint && !body.items.some(({ name }) => name.text === "endpoint")
  )
}
