import type { SourceBody } from "../api/execute.ts"
import { refuse, refuseAt } from "./http-error.ts"
import { decode } from "./read-body.ts"
import { sourceBytes } from "../base/limits.ts"

/** The workflow's text to the letter, from whichever field (or plain body) holds it. */
export function readSource(body: SourceBody | string): string {
  if (typeof body === "string") return checked(body, "")
  if (body.workflow_source_base64 !== undefined) {
    const path = "workflow_source_base64"
    return checked(decodeBase64(body.workflow_source_base64, path), path)
  }
  return checked(body.workflow_source ?? "", "workflow_source")
}

function checked(text: string, path: string): string {
  if (text.trim() === "") throw refuseAt("invalid_request", path, "The source is empty")
  if (Buffer.byteLength(text) > sourceBytes) {
    throw refuse("payload_too_large", `The source is larger than ${sourceBytes} bytes`, [
      { path, message: `The source is larger than ${sourceBytes} bytes` },
    ])
  }
  return text
}

/** Standard Base64, padded or not. `Buffer` would quietly skip what is not. */
function decodeBase64(text: string, path: string): string {
  const bare = text.replace(/={1,2}$/, "")
  const padding = text.length - bare.length
  const valid = /^[A-Za-z0-9+/]*$/.test(bare) && bare.length % 4 !== 1 && (padding === 0 || text.length % 4 === 0)
  if (!valid) throw refuseAt("invalid_request", path, "This is not standard Base64")
  return decode(Buffer.from(bare, "base64"), "The source")
}
