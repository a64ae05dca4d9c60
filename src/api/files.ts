import {
  array,
  closed,
  integer,
  named,
  nullable,
  object,
  oneOf,
  optional,
  string,
  time,
  type Schema,
  type Shape,
} from "../base/typed-schema.ts"
import { defaultLimit, next, pageFields } from "./page.ts"
import { json, route } from "./route.ts"

const facts = {
  file_id: string(),
  name: string(),
  media_type: string(),
  bytes: integer(),
}

const storedFields = {
  ...facts,
  sha256: string({ description: "Of the contents, in hex." }),
  created_at: time,
  expires_at: nullable(time, { description: "It stays longer while a run refers to it." }),
}

export type FileAnswer = Shape<typeof storedFile>

const storedFile = named("StoredFile", object(storedFields))

export type FileMetaAnswer = Shape<typeof fileMeta>

const fileMeta = named(
  "FileMeta",
  object({ ...storedFields, runs: array(string(), { description: "Runs that use it, at most 1,000." }) }),
)

export type FilesAnswer = Shape<typeof filesAnswer>

const filesAnswer = named("Files", object({ files: array(storedFile), next }))

export type RunFilesAnswer = Shape<typeof runFiles>

const runFiles = named(
  "RunFiles",
  object({
    files: array(
      object({
        ...facts,
        origin: oneOf(["input", "made"]),
        step: optional(string({ description: "The step that made it." })),
      }),
    ),
  }),
)

const contents: Schema<string> = string({ format: "binary" })

export const sendFile = route({
  id: "sendFile",
  method: "POST",
  path: "/files",
  group: "Files",
  summary: "Send a file",
  description:
    'The body is the file: `Content-Type` is its media type, and `Content-Disposition: attachment; filename="…"` its name. Or `multipart/form-data` with one part `file`. ' +
    "A media type whose first bytes are known must be true. The limits are `WIRE_MAX_FILE` and `WIRE_MAX_FILES_PER_CALLER`; `WIRE_MAX_BODY` and the time for a request do not hold, " +
    "but 60 seconds without a byte end it.",
  headers: { "Content-Disposition": string({ description: 'The name: `attachment; filename="report.pdf"`.' }) },
  query: closed({}),
  bodyIs: "file",
  answers: {
    200: json(
      "The caller has this file already, with the same contents, name and type: it lives longer now.",
      storedFile,
    ),
    201: json("The file is stored.", storedFile),
  },
  errors: ["not_found", "payload_too_large", "unsupported_media_type", "storage_full", "overloaded"],
})

export const getFile = route({
  id: "getFile",
  method: "GET",
  path: "/files/{file_id}",
  group: "Files",
  summary: "The contents of a file",
  description:
    "As a download that no page runs. `Range` and `If-None-Match` work. Of the caller's own files, and of those that an open question shows which the caller may answer; others are 404. An operator's key reads no contents.",
  headers: {
    Range: string({ description: "One range of bytes." }),
    "If-None-Match": string({ description: "`ETag` of an answer before." }),
  },
  answers: {
    200: { description: "All of it.", content: { "*/*": contents } },
    206: { description: "The range.", content: { "*/*": contents } },
    304: { description: "It is the same." },
    416: { description: "The range is not in the file." },
  },
  errors: ["not_found", "overloaded"],
})

export const getFileMeta = route({
  id: "getFileMeta",
  method: "GET",
  path: "/files/{file_id}/meta",
  group: "Files",
  operators: true,
  summary: "What is known of a file",
  description: "With the runs that use it.",
  answers: { 200: json("The file.", fileMeta) },
  errors: ["not_found"],
})

export const listFiles = route({
  id: "listFiles",
  method: "GET",
  path: "/files",
  group: "Files",
  summary: "The caller's files, newest first",
  description: "Those that the caller sent, and those that its runs made.",
  query: closed(pageFields(String(defaultLimit))),
  answers: { 200: json("A page of them.", filesAnswer) },
  errors: ["not_found"],
})

export const deleteFile = route({
  id: "deleteFile",
  method: "DELETE",
  path: "/files/{file_id}",
  group: "Files",
  summary: "Delete a file",
  description: "Records of ended runs keep what they say of it; its contents are gone.",
  bodyIs: "none",
  answers: { 204: { description: "It is deleted." } },
  errors: ["not_found", "conflict"],
})

export const listRunFiles = route({
  id: "listRunFiles",
  method: "GET",
  path: "/execute/{run_id}/files",
  group: "Files",
  operators: true,
  summary: "The files of a run",
  description: "Those that it got, and those that its steps made.",
  answers: { 200: json("All of them that are still there.", runFiles) },
  errors: ["not_found", "run_expired"],
})

export const fileRoutes = [sendFile, getFile, getFileMeta, listFiles, deleteFile, listRunFiles] as const
