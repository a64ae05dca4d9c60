import { createHash } from "node:crypto"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { givenFile } from "../../types/file-value.ts"
import type { BodyOfFiles } from "./build-request.ts"

export interface SentBody {
  readonly body: Uint8Array
  readonly contentType: string
}

/** The bytes of a body with files. `files`: the fields of a form that are files, or lists of them. */
export function bodyOfFiles(contents: BodyOfFiles, files: ReadonlySet<string>): SentBody {
  if (contents.kind === "form") return formOf(contents.fields, files)
  const { bytes, media_type } = sentFile(contents.file)
  return { body: bytes, contentType: media_type }
}

interface SentFile {
  readonly bytes: Uint8Array
  readonly media_type: string
  readonly name: string
}

/** The contents of a file; what is known of it where a kept request names it in place of its contents. */
function sentFile(value: JsonValue): SentFile {
  const given = givenFile(value)
  if (given?.kind === "data") {
    const { data, media_type, name } = given
    return {
      bytes: Buffer.from(data, "base64"),
      media_type: media_type ?? "application/octet-stream",
      name: name ?? "file",
    }
  }
  const file_id = given?.kind === "value" ? given.file.file_id : "file"
  return { bytes: Buffer.from(`[${file_id}]`), media_type: "text/plain", name: "file" }
}

/** A form with a part for each argument; of a list of files one for each file. */
function formOf(fields: JsonObject, files: ReadonlySet<string>): SentBody {
  const parts = Object.entries(fields).flatMap(([name, value]): Buffer[][] => {
    const disposition = `Content-Disposition: form-data; name="${inForm(name)}"`
    if (!files.has(name)) {
      return value === null
        ? []
        : [
            [
              Buffer.from(`${disposition}\r\n\r\n`),
              Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
            ],
          ]
    }
    return (Array.isArray(value) ? value : [value])
      .filter((one) => one !== null)
      .map((one) => {
        const { bytes, media_type, name: called } = sentFile(one)
        const head = `${disposition}; filename="${inForm(called)}"\r\nContent-Type: ${media_type}\r\n\r\n`
        return [Buffer.from(head), Buffer.from(bytes)]
      })
  })
  // The same contents make the same body: a call that is made again sends what it sent before.
  const boundary = `wire-${createHash("sha256").update(Buffer.concat(parts.flat())).digest("hex").slice(0, 40)}`
  const body = Buffer.concat([
    ...parts.flatMap((part) => [Buffer.from(`--${boundary}\r\n`), ...part, Buffer.from("\r\n")]),
    Buffer.from(`--${boundary}--\r\n`),
  ])
  return { body, contentType: `multipart/form-data; boundary=${boundary}` }
}

/** A name as browsers write it in a form. */
function inForm(name: string): string {
  return name.replaceAll(/["\r\n]/g, (one) => encodeURIComponent(one))
}
