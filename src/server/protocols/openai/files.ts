import type { FastifyInstance } from "fastify"
import * as api from "../../../api/openai.ts"
import type { StoredFile } from "../../../ports/file-store.ts"
import { callerOf } from "../../caller-of.ts"
import { listNeedsKeys } from "../../callers.ts"
import { refuse } from "../../http-error.ts"
import { announcedBytes } from "../../read-body.ts"
import { readFormFile } from "../../read-multipart.ts"
import type { RouteDependencies } from "../../route-dependencies.ts"
import { bodyOf, filesOf, noSuchFile, ownFile, sendContents, takingFiles } from "../../routes/files.ts"
import { serve } from "../../serve-route.ts"
import { wrongField } from "./fields.ts"
import { seconds } from "./response-object.ts"

const defaultLimit = 500

/** `/v1/files`: the files of `/files`, as OpenAI's API has them. */
export function chatFileRoutes(app: FastifyInstance, parts: RouteDependencies, isOpenToStrangers: boolean): void {
  takingFiles(app, (scope) => {
    serve(scope, api.createChatFile, async (request, reply) => {
      const caller = callerOf(request)
      const contentType = request.headers["content-type"] ?? ""
      if (!/^multipart\/form-data\b/i.test(contentType.trimStart()))
        throw wrongField("file", "The body must be a form (multipart/form-data) with a part `file`")
      const length = announcedBytes(request)
      await filesOf(parts).admit(caller, Number.isFinite(length) ? length : null)
      const { body, ...given } = await readFormFile(contentType, bodyOf(request), true)
      const { file } = await filesOf(parts).put(caller, { ...given, bytes: null }, body)
      return reply.send(fileObject(file))
    })
  })

  serve(app, api.listChatFiles, async (request): Promise<api.ChatFilesAnswer> => {
    const { limit = defaultLimit, after, order = "desc" } = request.query
    const { store } = filesOf(parts)
    if (isOpenToStrangers) throw listNeedsKeys("files")
    if (order !== "desc") throw wrongField("order", "`order` must be desc: the newest files come first")
    const caller = callerOf(request)
    const before = after === undefined ? null : await store.one(after)
    if (after !== undefined && before?.caller !== caller) throw wrongField("after", "`after` must be the id of a file")
    const page = await store.list(caller, limit + 1, before?.number ?? 0)
    const data = page.slice(0, limit).map(fileObject)
    const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
    return { object: "list", data, first_id, last_id, has_more: page.length > limit }
  })

  serve(app, api.getChatFile, async (request) => fileObject(await ownFile(filesOf(parts), request)))

  serve(app, api.getChatFileContent, async (request, reply) =>
    sendContents(filesOf(parts), await ownFile(filesOf(parts), request), request, reply),
  )

  serve(app, api.deleteChatFile, async (request) => {
    const { store } = filesOf(parts)
    const { file_id } = await ownFile(filesOf(parts), request)
    const outcome = await store.delete(file_id)
    if (outcome === "used") throw refuse("conflict", "A run that has not ended uses this file")
    if (outcome === "gone") throw noSuchFile()
    return { id: file_id, object: "file", deleted: true }
  })
}

function fileObject({ file_id, name, bytes, created_at, expires_at }: StoredFile): api.ChatFileAnswer {
  return {
    id: file_id,
    object: "file",
    bytes,
    created_at: seconds(created_at),
    expires_at: seconds(expires_at),
    filename: name,
    purpose: "user_data",
    status: "processed",
  }
}
