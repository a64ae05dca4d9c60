import { Readable } from "node:stream"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import * as api from "../../api/files.ts"
import { defaultLimit } from "../../api/page.ts"
import { isoTime } from "../../base/iso-time.ts"
import type { ByteRange } from "../../ports/files.ts"
import type { StoredFile } from "../../ports/file-store.ts"
import type { Files } from "../../run/files/files.ts"
import { filesInValue } from "../../types/files-in-value.ts"
import { callerOf, reaches } from "../caller-of.ts"
import { listNeedsKeys } from "../callers.ts"
import { refuse, refuseAt, type HttpError } from "../http-error.ts"
import { ownRun } from "../own-run.ts"
import { fileNameIn, readFormFile } from "../read-multipart.ts"
import { announcedBytes } from "../read-body.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import { serve } from "../serve-route.ts"

/** A client that takes nothing for so long is left. */
const silenceMs = 60_000

/** Routes of files. Contents stream in both directions. */
export function fileRoutes(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  const files = (): Files => filesOf(parts)

  takingFiles(app, (scope) => {
    serve(scope, api.sendFile, async (request, reply) => {
      const caller = callerOf(request)
      const length = announcedBytes(request)
      await files().admit(caller, Number.isFinite(length) ? length : null)
      const { body, ...given } = await sentFile(request)
      const { file, isNew } = await files().put(caller, { ...given, bytes: null }, body)
      return reply.code(isNew ? 201 : 200).send(shown(file))
    })
  })

  serve(app, api.getFile, async (request, reply) => {
    const file = await readableFile(parts, request)
    return sendContents(files(), file, request, reply)
  })

  serve(app, api.getFileMeta, async (request): Promise<api.FileMetaAnswer> => {
    const file = await ownFile(files(), request)
    return { ...shown(file), runs: await files().store.runsOf(file.file_id) }
  })

  serve(app, api.listFiles, async (request): Promise<api.FilesAnswer> => {
    const { limit = defaultLimit, after } = request.query
    const of = files()
    if (isOpenToStrangers) throw listNeedsKeys("files")
    const page = await of.store.list(callerOf(request), limit + 1, positionOf(after))
    const fits = page.slice(0, limit)
    const last = page.length > limit ? fits.at(-1) : undefined
    return { files: fits.map(shown), next: last === undefined ? null : String(last.number) }
  })

  serve(app, api.deleteFile, async (request, reply) => {
    const { file_id } = await ownFile(files(), request)
    switch (await files().store.delete(file_id)) {
      case "used":
        throw refuse("conflict", "A run that has not ended uses this file")
      case "gone":
        throw noSuchFile()
      case "deleted":
        return reply.code(204).send()
    }
  })

  serve(app, api.listRunFiles, async (request): Promise<api.RunFilesAnswer> => {
    const { run_id } = await ownRun(parts, request, request.params.run_id)
    const found = await files().store.ofRun(run_id)
    return {
      files: found.map(({ file_id, name, media_type, bytes, origin, step }) => ({
        file_id,
        name,
        media_type,
        bytes,
        origin,
        ...(step !== "" && { step }),
      })),
    }
  })
}

/** Routes whose body, of any type, is a file. */
export function takingFiles(app: FastifyInstance, routes: (scope: FastifyInstance) => void): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser("*", (_request, body, done) => done(null, body))
    routes(scope)
  })
}

/** The files of the service. Throws an `HttpError` where it keeps none. */
export function filesOf({ files }: RouteDependencies): Files {
  if (files === null) throw refuse("not_found", "This service keeps no files (WIRE_FILES is none)")
  return files
}

interface SentFile {
  readonly name: string | null
  readonly media_type: string | null
  readonly body: AsyncIterable<Uint8Array>
}

async function sentFile(request: FastifyRequest): Promise<SentFile> {
  const body = bodyOf(request)
  const contentType = request.headers["content-type"] ?? null
  if (/^multipart\/form-data\b/i.test(contentType?.trimStart() ?? "")) return readFormFile(contentType ?? "", body)
  const disposition = request.headers["content-disposition"] ?? ""
  return { name: fileNameIn(disposition), media_type: contentType, body }
}

/** How a client that leaves while it sends is told. */
const leaving: ReadonlySet<unknown> = new Set(["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"])

/** Where a file is refused before its end, the rest is read and forgotten: a client that still writes would not see the answer. */
export async function* bodyOf({ body }: FastifyRequest): AsyncGenerator<Uint8Array, void> {
  if (!(body instanceof Readable)) return
  try {
    yield* body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
  } catch (error) {
    const hasLeft = error instanceof Error && "code" in error && leaving.has(error.code)
    if (!hasLeft) throw error
    throw refuse("invalid_request", "The body ended before it was whole")
  }
}

/** A file of another caller is reported as not found. */
export async function ownFile(
  files: Files,
  request: FastifyRequest<{ Params: { readonly file_id: string } }>,
): Promise<StoredFile> {
  const file = await files.store.one(request.params.file_id)
  if (file === null || !reaches(request, file.caller)) throw noSuchFile()
  return file
}

/** Runs whose questions are looked at. */
const maxRuns = 100
/** More than a run has open. */
const maxQuestions = 1_000

/** One of the caller's, or one that an open question shows which the caller may answer. */
async function readableFile(
  parts: RouteDependencies,
  request: FastifyRequest<{ Params: { readonly file_id: string } }>,
): Promise<StoredFile> {
  const { groups, store } = parts
  const files = filesOf(parts)
  const file = await files.store.one(request.params.file_id)
  if (file === null) throw noSuchFile()
  const caller = callerOf(request)
  if (reaches(request, file.caller)) return file
  // Only the members of a group answer questions of runs of others.
  const runs = groups.of(caller).length === 0 ? [] : await files.store.runsOf(file.file_id)
  for (const run_id of runs.slice(0, maxRuns)) {
    const { found } = await store.questions.ofRun(run_id, maxQuestions, null)
    const shows = found.some(
      ({ question: { status, to, show } }) =>
        status === "open" &&
        groups.mayAnswer(caller, to, file.caller) &&
        filesInValue(show).some(({ file_id }) => file_id === file.file_id),
    )
    if (shows) return file
  }
  throw noSuchFile()
}

export function noSuchFile(): HttpError {
  return refuse("not_found", "There is no such file")
}

function shown({ file_id, name, media_type, bytes, sha256, created_at, expires_at }: StoredFile): api.FileAnswer {
  return { file_id, name, media_type, bytes, sha256, created_at: isoTime(created_at), expires_at: isoTime(expires_at) }
}

function positionOf(after: string | undefined): number {
  const position = Number(after ?? 0)
  if (Number.isSafeInteger(position) && position >= 0) return position
  throw refuseAt("invalid_request", "after", "`after` must be the `next` of another page")
}

/** The contents as a download: no page runs them, whatever they are. */
export async function sendContents(
  files: Files,
  file: StoredFile,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const tag = `"${file.sha256}"`
  void reply.headers({
    etag: tag,
    "accept-ranges": "bytes",
    "content-disposition": dispositionOf(file.name),
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cache-control": "private, no-store",
    "cross-origin-resource-policy": "same-origin",
  })
  const { "if-none-match": known, range: asked, "if-range": ifRange } = request.headers
  if (
    known !== undefined &&
    (known.trim() === "*" || known.split(",").some((one) => one.trim().replace(/^W\//, "") === tag))
  ) {
    return reply.code(304).send()
  }
  const range = asked === undefined || (ifRange !== undefined && ifRange !== tag) ? null : rangeOf(asked, file.bytes)
  if (range === "unsatisfiable") {
    const { error } = refuse("invalid_request", `The range is not in the file, which has ${file.bytes} bytes`)
    return reply.code(416).header("content-range", `bytes */${file.bytes}`).send({ error })
  }
  const bytes = range?.bytes ?? file.bytes
  void reply
    .code(range === null ? 200 : 206)
    .headers({ "content-type": file.media_type, "content-length": String(bytes) })
  if (range !== null)
    void reply.header("content-range", `bytes ${range.from}-${range.from + range.bytes - 1}/${file.bytes}`)
  if (request.method === "HEAD") {
    reply.hijack()
    reply.raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>).end()
    return reply
  }
  if (bytes === 0) return reply.send("")
  const contents = files.read(file, range ?? undefined)[Symbol.asyncIterator]()
  // What cannot be read at all is an error; what breaks off later closes the connection.
  const first = await contents.next()
  reply.raw.setTimeout(silenceMs, () => reply.raw.destroy())
  return reply.send(Readable.from(from(first, contents), { objectMode: false, highWaterMark: 256 * 1024 }))
}

async function* from(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}

/** Null: the header is none that we take, and all is sent. */
function rangeOf(header: string, bytes: number): ByteRange | "unsatisfiable" | null {
  const [, start = "", end = ""] = /^bytes=(\d*)-(\d*)$/.exec(header.replaceAll(/\s/g, "")) ?? []
  if (start === "" && end === "") return null
  if (start === "") {
    const last = Math.min(Number(end), bytes)
    return last === 0 ? "unsatisfiable" : { from: bytes - last, bytes: last }
  }
  const from = Number(start)
  const to = end === "" ? bytes - 1 : Math.min(Number(end), bytes - 1)
  if (end !== "" && Number(end) < from) return null
  return from >= bytes ? "unsatisfiable" : { from, bytes: to - from + 1 }
}

/** The name in ASCII for old clients, and as it is. */
function dispositionOf(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_")
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
