import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { hostedSummaryBytes } from "../../base/limits.ts"
import type { TokenUsage } from "../../log/events.ts"
import type { HostedUse } from "../../ports/model.ts"
import { hostedType } from "../../syntax/property-table.ts"
import { tokenCount } from "../model-turn/token-count.ts"

/** The type of an entry of `hosted_tools`, as it is written. */
export function typeOf({ type }: JsonObject): string {
  return typeof type === "string" ? type : ""
}

/** `web_search` for `web_search_20260318` and for `web_search_2025_08_26`. */
export function withoutDate(type: string): string {
  return type.replace(/_(?:\d{8}|\d{4}_\d\d_\d\d)$/, "")
}

/** One use. `said` are texts of what was asked and of what was found. */
export function hostedUse(type: string, said: readonly (JsonValue | undefined)[]): HostedUse {
  const texts = said.flatMap((one) => (typeof one === "string" && one !== "" ? [one] : []))
  return { type: hostedType(type) ?? type, summary: cutBytes(texts.join("\n")) }
}

/** Strings of a list, or of a field of its objects. */
export function textsIn(list: JsonValue | undefined, field?: string): string[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((one) => {
    const text = field === undefined ? one : isJsonObject(one) ? one[field] : undefined
    return typeof text === "string" ? [text] : []
  })
}

const noHosted: Pick<TokenUsage, "hosted"> = {}

/** The uses by type: as many as the provider reports, else as many as there are in its answer. */
export function countedUses(
  uses: readonly HostedUse[],
  reported: Readonly<Record<string, JsonValue | undefined>> = {},
): Pick<TokenUsage, "hosted"> {
  if (uses.length === 0 && Object.values(reported).every((count) => count === undefined)) return noHosted
  const counts = new Map<string, number>()
  for (const { type } of uses) counts.set(type, (counts.get(type) ?? 0) + 1)
  for (const [type, count] of Object.entries(reported)) {
    if (typeof count === "number") counts.set(type, tokenCount(count))
  }
  const some = [...counts].filter(([, count]) => count > 0)
  return some.length === 0 ? {} : { hosted: Object.fromEntries(some) }
}

function cutBytes(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= hostedSummaryBytes) return text
  // A character that is cut in two is left out.
  return `${new TextDecoder().decode(bytes.subarray(0, hostedSummaryBytes - 3), { stream: true })}…`
}
