import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ResponseFacts } from "../../ports/model.ts"

/** The backend's own words for an answer, of any API: nothing of what the model says. Streams of some have none. */
export function responseFacts(body: JsonObject): ResponseFacts {
  const id = word(body["id"] ?? body["responseId"])
  const model = word(body["model"] ?? body["modelVersion"])
  const incomplete = isJsonObject(body["incomplete_details"]) ? body["incomplete_details"]["reason"] : undefined
  const listed = [...objects(body["choices"]), ...objects(body["candidates"])]
  const given = listed.map((one) => one["finish_reason"] ?? one["finishReason"])
  const reasons = listed.length > 0 ? given : [body["stop_reason"] ?? incomplete ?? body["status"]]
  const finish_reasons = reasons.flatMap((reason) => word(reason) ?? [])
  return {
    ...(id !== undefined && { id }),
    ...(model !== undefined && { model }),
    ...(finish_reasons.length > 0 && { finish_reasons }),
  }
}

function objects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : []
}

function word(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && /^[\w.:/@+-]{1,200}$/.test(value) ? value : undefined
}
