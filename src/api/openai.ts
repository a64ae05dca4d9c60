import { json, route, type Answer } from "./route.ts"
import {
  anyObject,
  array,
  boolean,
  closed,
  exactly,
  integer,
  maybe,
  named,
  nullable,
  object,
  optional,
  string,
  withRefusal,
  type Schema,
  type Shape,
} from "../base/typed-schema.ts"
import { startsRun } from "./execute.ts"

// Workflows with a `chat` block, as the models of OpenAI's APIs. Fields that are not described are taken as well.

const model = string({ description: "The name of a workflow with a `chat` block." })
const metadata = maybe(
  anyObject({ description: "Texts. They also fill the input fields that are not part of the chat." }),
)
const stream = maybe(boolean({ description: "Answer with server-sent events." }))

const listedModel = named(
  "ChatModel",
  object({ id: string(), object: exactly("model"), created: integer(), owned_by: string() }),
)
const models = named("ChatModels", object({ object: exactly("list"), data: array(listedModel) }))

const answerIn = (description: string, events: string): Record<number, Answer> => ({
  200: {
    description,
    headers: ["x-service-run-id", "x-ignored"],
    content: { "application/json": anyObject(), "text/event-stream": string({ description: events }) },
  },
})

const response: Schema<unknown> = anyObject({ description: "A response, as OpenAI's API has it." })
const errors = [...startsRun.errors, "not_found"] as const
const headers = { "Idempotency-Key": startsRun.headers["Idempotency-Key"] }

export const listModels = route({
  id: "listModels",
  method: "GET",
  path: "/v1/models",
  group: "Chat",
  summary: "The workflows with a `chat` block, as models",
  description: "For clients of OpenAI's APIs.",
  query: null,
  answers: { 200: json("All of them.", models) },
})

export const getModel = route({
  id: "getModel",
  method: "GET",
  path: "/v1/models/{id*}",
  group: "Chat",
  summary: "One of them",
  description: "As in the list.",
  parameters: { id: "The name of the workflow; may have slashes." },
  query: null,
  answers: { 200: json("The model.", listedModel) },
  errors: ["not_found"],
})

export const createChatCompletion = route({
  id: "createChatCompletion",
  method: "POST",
  path: "/v1/chat/completions",
  group: "Chat",
  summary: "Talk to a workflow, by OpenAI's chat completions",
  description:
    "The last message must be the user's. What the workflow cannot honour is named in `x-ignored`. A client that leaves cancels the run, unless it sent an `Idempotency-Key`.",
  headers,
  query: null,
  body: object({ model, messages: array(anyObject()), stream, metadata }),
  example: { model: "support", messages: [{ role: "user", content: "Where is my order?" }] },
  answers: answerIn("A chat completion.", "Chunks, then `[DONE]`."),
  errors: [...errors],
})

export const inputRefusal = "`input` must be a string, or a list of messages"

export const createResponse = route({
  id: "createResponse",
  method: "POST",
  path: "/v1/responses",
  group: "Chat",
  summary: "Talk to a workflow, by OpenAI's responses",
  description:
    "`previous_response_id` goes on with a conversation, and answers the question that its run waits for. With `background: true` the run goes on without the client.",
  headers,
  query: null,
  body: object({
    model,
    input: {
      anyOf: [withRefusal(inputRefusal, string()), withRefusal(inputRefusal, array(anyObject()))],
      description: "A message, or messages; the last must be the user's.",
    },
    instructions: maybe(string()),
    previous_response_id: maybe(string()),
    stream,
    background: maybe(boolean()),
    store: maybe(boolean({ description: "Default true; false: the response cannot be fetched or continued." })),
    metadata,
  }),
  example: { model: "support", input: "Where is my order?" },
  answers: answerIn("The response.", "Events from `response.created` to `response.completed`, then `[DONE]`."),
  errors: [...errors],
})

const parameters = { id: "`resp_{run_id}_{n}`" }

export const getResponse = route({
  id: "getResponse",
  method: "GET",
  path: "/v1/responses/{id}",
  group: "Chat",
  summary: "A response that was stored",
  description: "Whole only: `stream=true` is refused.",
  parameters,
  query: null,
  answers: { 200: json("The response.", response) },
  errors: ["not_found"],
})

export const deleteResponse = route({
  id: "deleteResponse",
  method: "DELETE",
  path: "/v1/responses/{id}",
  group: "Chat",
  summary: "Forget a response",
  description: "Its run is deleted; one that is under way is cancelled first.",
  parameters,
  query: null,
  answers: {
    200: json("It is gone.", object({ id: string(), object: exactly("response"), deleted: exactly(true) })),
  },
  errors: ["not_found"],
})

export const cancelResponse = route({
  id: "cancelResponse",
  method: "POST",
  path: "/v1/responses/{id}/cancel",
  group: "Chat",
  summary: "Stop a response with `background: true`",
  description: "Repeats are harmless.",
  parameters,
  query: null,
  bodyIs: "none",
  body: {},
  answers: { 200: json("The response.", response) },
  errors: ["not_found"],
})

export type ChatFileAnswer = Shape<typeof chatFile>

const chatFile = named(
  "ChatFile",
  object({
    id: string({ description: "The `file_id` of the file." }),
    object: exactly("file"),
    bytes: integer(),
    created_at: integer({ description: "Seconds since 1970." }),
    expires_at: integer({ description: "It stays longer while a run refers to it." }),
    filename: string(),
    purpose: exactly("user_data"),
    status: exactly("processed"),
  }),
)

export type ChatFilesAnswer = Shape<typeof chatFiles>

const chatFiles = named(
  "ChatFiles",
  object({
    object: exactly("list"),
    data: array(chatFile),
    first_id: nullable(string()),
    last_id: nullable(string()),
    has_more: boolean(),
  }),
)

export const createChatFile = route({
  id: "createChatFile",
  method: "POST",
  path: "/v1/files",
  group: "Chat",
  summary: "Send a file, by OpenAI's files API",
  description:
    "A form with a part `file`; `purpose` and other parts are not looked at. The file is one of `/files`, with the same rights and limits, and its `id` is its `file_id`.",
  query: null,
  bodyIs: "file",
  answers: { 200: json("The file is stored.", chatFile) },
  errors: ["not_found", "payload_too_large", "unsupported_media_type", "storage_full", "overloaded"],
})

export const listChatFiles = route({
  id: "listChatFiles",
  method: "GET",
  path: "/v1/files",
  group: "Chat",
  summary: "The caller's files, newest first",
  description: "Those of `/files`.",
  query: closed({
    limit: optional(integer({ minimum: 1, maximum: 500, description: "1 to 500, which it is unless given." })),
    after: optional(string({ description: "`last_id` of the page before." })),
    order: optional(string({ description: "`desc`." })),
    purpose: optional(string({ description: "Not looked at." })),
  }),
  answers: { 200: json("A page of them.", chatFiles) },
  errors: ["not_found"],
})

export const getChatFile = route({
  id: "getChatFile",
  method: "GET",
  path: "/v1/files/{file_id}",
  group: "Chat",
  summary: "One of them",
  description: "As in the list.",
  query: null,
  answers: { 200: json("The file.", chatFile) },
  errors: ["not_found"],
})

export const getChatFileContent = route({
  id: "getChatFileContent",
  method: "GET",
  path: "/v1/files/{file_id}/content",
  group: "Chat",
  summary: "The contents of a file",
  description: "As `GET /files/{file_id}` gives them.",
  query: null,
  answers: { 200: { description: "All of it.", content: { "*/*": string({ format: "binary" }) } } },
  errors: ["not_found", "overloaded"],
})

export const deleteChatFile = route({
  id: "deleteChatFile",
  method: "DELETE",
  path: "/v1/files/{file_id}",
  group: "Chat",
  summary: "Delete a file",
  description: "One that no open run uses.",
  query: null,
  bodyIs: "none",
  answers: {
    200: json("It is gone.", object({ id: string(), object: exactly("file"), deleted: exactly(true) })),
  },
  errors: ["not_found", "conflict"],
})

export const chatRoutes = [
  listModels,
  getModel,
  createChatCompletion,
  createResponse,
  getResponse,
  deleteResponse,
  cancelResponse,
  createChatFile,
  listChatFiles,
  getChatFile,
  getChatFileContent,
  deleteChatFile,
]
