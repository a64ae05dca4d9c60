import { safeFileName } from "../../base/file-name.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { fileTextBytes } from "../../base/limits.ts"
import { isLie, mediaTypeOfName, readMediaType, telltaleBytes } from "../../base/media-type.ts"
import { failure } from "../../ports/run-failure.ts"
import { isFileValue } from "../../types/file-value.ts"
import { FileRefusal, type Files } from "../files/files.ts"
import { noFiles, ownFile } from "../files/run-files.ts"
import { storeMade } from "../files/store-made.ts"
import { lacking, problem, type FileFunctions, type Scope } from "./scope.ts"

/** A run, or a workflow that it calls. */
export interface FileWorkOf {
  readonly runId: string
  /** Which call of a workflow it is; null for the run itself. */
  readonly scope: string | null
  readonly caller: string
  readonly files: Files | undefined
  /** Does what leaves this process, once the run itself is stored. */
  readonly call: <T>(work: () => Promise<T>) => Promise<T>
}

/** What expressions of a run do with files. */
export class FileWork implements FileFunctions {
  readonly #of: FileWorkOf

  constructor(of: FileWorkOf) {
    this.#of = of
  }

  async make(
    { text: written }: { readonly text: string },
    [name = null, contents = null, mediaType = null]: readonly JsonValue[],
    scope: Scope,
  ): Promise<JsonValue> {
    const expression = { text: written }
    if (typeof name !== "string") throw lacking(expression, "the name of a file is a string", name, scope)
    if (typeof contents !== "string") throw lacking(expression, "the text of a file is a string", contents, scope)
    if (mediaType !== null && typeof mediaType !== "string") {
      throw lacking(expression, "the media type of a file is a string", mediaType, scope)
    }
    const { caller, runId, call } = this.#of
    const files = this.#files(scope)
    const safe = safeFileName(name)
    const media_type = readMediaType(mediaType ?? mediaTypeOfName(safe) ?? "text/plain")
    if (media_type === null) throw problem(written, "the media type is not one", scope)
    const bytes = Buffer.from(contents, "utf8")
    if (isLie(media_type, bytes.subarray(0, telltaleBytes)))
      throw problem(written, `the text is not ${media_type}`, scope)
    const step = stepOf(scope, this.#of.scope)
    const place = [scope.iteration, scope.positions.join(".")]
    try {
      return await storeMade(files, { caller, run_id: runId, step, place, name: safe, media_type, bytes }, call)
    } catch (error) {
      if (!(error instanceof FileRefusal)) throw error
      const kind = error.kind === "unsupported_media_type" ? "evaluation_error" : error.kind
      throw failure(kind, scope.path, error.message)
    }
  }

  async textOf(
    expression: { readonly text: string },
    [file = null]: readonly JsonValue[],
    scope: Scope,
  ): Promise<JsonValue> {
    if (!isFileValue(file)) throw lacking(expression, "text_of takes a file", file, scope)
    const files = this.#files(scope)
    const found = await ownFile(files, this.#of.caller, file.file_id)
    if (found === null) throw problem(expression.text, "the file is gone", scope)
    if (found.bytes > fileTextBytes) {
      const most = `${fileTextBytes / 1024 / 1024} MiB`
      throw problem(expression.text, `the file has ${found.bytes} bytes, and text_of reads at most ${most}`, scope)
    }
    const bytes = await files.readAll(found)
    scope.work.text(bytes.length, scope.path)
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    } catch {
      throw problem(expression.text, "the contents of the file are not UTF-8", scope)
    }
  }

  #files({ path }: Scope): Files {
    const { files } = this.#of
    if (files === undefined) throw failure("evaluation_error", path, noFiles)
    return files
  }
}

/** The step that a place belongs to: `agent.review`, `output`; in a called workflow with the call before it. */
function stepOf({ path }: Scope, scope: string | null): string {
  const [kind = "", name = ""] = path.split(/[.[]/)
  const own = kind === "output" || name === "" ? kind : `${kind}.${name}`
  return scope === null ? own : `${scope}/${own}`
}
