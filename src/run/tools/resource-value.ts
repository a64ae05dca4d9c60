import type { JsonValue } from "../../base/json-value.ts"
import { parseJson } from "../values/parse-json.ts"
import type { ResourceAnswer } from "../../ports/tools.ts"

/** Text, or parsed JSON when the media type says so. */
export function resourceValue({ text, media_type }: ResourceAnswer): JsonValue {
  if (media_type === null || !/^[^;]*[/+]json\s*(?:;|$)/i.test(media_type)) return text
  return parseJson(text) ?? text
}
