import { cutText } from "../base/cut-text.ts"
import type { SourceBody } from "../api/execute.ts"
import { refuse, refuseAt, type HttpError } from "./http-error.ts"
import { decode } from "./read-body.ts"
import { codeModuleBytes, sourceBytes, sourceModuleBytes, sourceModules } from "../base/limits.ts"
import { isCodeModulePath, isModulePath } from "../base/module-path.ts"
import { filesOf, type SourceFiles } from "../source/source-files.ts"

/** The workflow's text to the letter, from whichever field (or plain body) holds it. */
export function readSource(body: SourceBody | string): string {
  if (typeof body === "string") return checked(body, "")
  const encoded = body.workflow_source_base64 ?? undefined
  if (encoded !== undefined) {
    const path = "workflow_source_base64"
    return checked(decodeBase64(encoded, path), path)
  }
  return checked(body.workflow_source ?? "", "workflow_source")
}

/** The other files of a request, and where the main source stands among them. A wrong one is refused by its path. */
export function readModules(body: Pick<SourceBody, "file" | "modules">): SourceFiles {
  const file = body.file ?? undefined
  const modules = body.modules ?? undefined
  if (file !== undefined && !isModulePath(file)) throw refuseModule("file", notAPath(file))
  const paths = Object.keys(modules ?? {})
  const texts: Record<string, string> = {}
  if (paths.length > sourceModules) {
    throw refuseModule(
      "modules",
      `A source comes with at most ${sourceModules} other files, and these are ${paths.length}`,
    )
  }
  let bytes = 0
  let codeBytes = 0
  for (const path of paths) {
    const text: unknown = modules?.[path]
    const at = `modules[${JSON.stringify(path)}]`
    const isCode = isCodeModulePath(path)
    if (!isCode && !isModulePath(path)) throw refuseModule(at, notAPath(path))
    if (path === (file ?? "main.wire"))
      throw refuseModule(at, `\`${path}\` is the main source: it is not among the others`)
    if (typeof text !== "string") throw refuseModule(at, `The text of \`${path}\` must be a string`)
    const size = Buffer.byteLength(text)
    if (size > sourceBytes) throw refuseModule(at, `\`${path}\` is larger than ${sourceBytes} bytes`)
    bytes += size
    if (isCode) codeBytes += size
    texts[path] = text
  }
  if (bytes > sourceModuleBytes) {
    throw refuseModule("modules", `The files are larger than ${sourceModuleBytes} bytes together`)
  }
  if (codeBytes > codeModuleBytes) {
    const message = `The code files are larger than ${codeModuleBytes} bytes together`
    throw refuse("payload_too_large", message, [{ path: "modules", message }])
  }
  return filesOf({ file, modules: paths.length === 0 ? undefined : texts })
}

function notAPath(path: string): string {
  const rule =
    "it ends in `.wire` (code in `.js` or `.ts`), has no `.`, `..`, `\\` or leading `/`, and at most 1000 characters"
  return `\`${cutText(path, 200)}\` is not the path of a file from the root: ${rule}`
}

function refuseModule(path: string, message: string): HttpError {
  return refuseAt("invalid_request", path, message)
}

function checked(text: string, path: string): string {
  if (text.trim() === "") throw refuseAt("invalid_request", path, "The source is empty")
  if (Buffer.byteLength(text) > sourceBytes) {
    const message = `The source is larger than ${sourceBytes} bytes, which no setting raises`
    throw refuse("payload_too_large", message, [{ path, message }])
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
