import type { JsonValue } from "../../base/json-value.ts"
import type { Verification } from "../../plan/plan-triggers.ts"
import { refuse } from "../http-error.ts"
import { JsonBody } from "../read-body.ts"

// The content type of a delivery is not signed: whoever replays one may write another. So the bytes decide how a body is read; a content
// type that says something else is refused.

/** Senders that sign JSON alone. */
const jsonAlone: ReadonlySet<Verification["scheme"]> = new Set(["standard", "stripe"])

/** The body as its bytes say: JSON, or the fields of a form with `payload` parsed. */
export async function readDelivery(
  { scheme }: Verification,
  contentType: string | undefined,
  body: Buffer,
  bodyLimit: number,
): Promise<JsonValue> {
  const media = (contentType ?? "").toLowerCase().split(";", 1)[0]?.trim() ?? ""
  // The content type of an empty body is gone by now.
  if (media === "" && body.length === 0)
    throw refuse("invalid_request", "The body is empty: JSON or a form is expected")
  if (media === "application/json" || /^application\/[\w.+-]+\+json$/.test(media)) {
    return (await JsonBody.read(body, bodyLimit)) as JsonValue
  }
  if (jsonAlone.has(scheme)) throw refuse("unsupported_media_type", `A delivery of ${scheme} is application/json`)
  if (media !== "application/x-www-form-urlencoded") {
    throw refuse("unsupported_media_type", "A delivery is application/json or application/x-www-form-urlencoded")
  }
  const text = body.toString("utf8")
  if (isJsonText(text)) {
    throw refuse("unsupported_media_type", "The body is JSON, and its content type says that it is a form")
  }
  const fields: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>
  for (const [name, value] of new URLSearchParams(text)) {
    if (name !== "__proto__") fields[name] ??= value
  }
  const { payload } = fields
  if (typeof payload !== "string") return { ...fields }
  const parsed = await JsonBody.read(Buffer.from(payload), bodyLimit)
  return { ...fields, payload: parsed as JsonValue }
}

/** Also for JSON that is broken, too deep or has refused keys: its strings must not become fields of a form. */
function isJsonText(text: string): boolean {
  const start = text.replace(/^\uFEFF/, "").trimStart()
  if (/^[[{"]/.test(start)) return true
  try {
    JSON.parse(start)
    return true
  } catch {
    return false
  }
}
