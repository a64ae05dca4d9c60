import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { ApiErrorKind } from "./error-kinds.ts"
import { closed, takingNulls, type Schema } from "../base/typed-schema.ts"

/** The groups of routes in the OpenAPI document, and in docs/http.md. */
export const groups = {
  Runs: "Start runs, follow them, stop them.",
  Questions: "What runs ask people.",
  Events: "What runs wait for besides people: events that callers send, and times.",
  Files: "What is too large for a value of JSON, or is no text: sent once, and named by its id in inputs and outputs.",
  Workflows: "The workflows of the server's folder.",
  Triggers: "Schedules and webhooks, which start runs of these workflows.",
  Budgets: "What may be used, and what has been used.",
  Scores: "What runs were judged by after they had completed.",
  Chat: "Workflows with a `chat` block, by OpenAI's APIs.",
  Source: "What can be said of a workflow without running it.",
  Operations: "Health, metrics and this document.",
  Demo: "The built-in demo model.",
} as const

export interface Answer {
  readonly description: string
  readonly headers?: readonly string[]
  /** By media type. */
  readonly content?: Readonly<Record<string, Schema<unknown>>>
}

/**
 * Everything that is said of a route. The server checks requests by it, `/openapi.json` and the reference of docs/http.md are made
 * from it, and its schemas are the types of server and client.
 */
export interface Route<Path extends string = string, Query = unknown, Body = unknown> {
  /** `operationId` of the OpenAPI document. */
  readonly id: string
  readonly method: "GET" | "POST" | "DELETE"
  /** `/execute/{run_id}`. A parameter that may have slashes has a star: `/workflows/{name*}`. */
  readonly path: Path
  readonly group: keyof typeof groups
  readonly summary: string
  readonly description: string
  /** Descriptions of parameters of the path that do not explain themselves. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, Schema<unknown>>>
  /** Absent: no parameters are taken. Null: they are not looked at. */
  readonly query?: Schema<Query> | null
  readonly body?: Schema<Body>
  /** `source`: the source as plain text will do. `none`: there need not be a body. `file`: it is a file of any type. Otherwise JSON. */
  readonly bodyIs?: "source" | "none" | "file"
  /** A body that the service takes. */
  readonly example?: JsonValue
  readonly answers: Readonly<Record<number, Answer>>
  /** Besides those that `errorsOf` adds. */
  readonly errors?: readonly ApiErrorKind[]
  /** Who needs no key: `anyone` is not counted by the rate limit either. */
  readonly open?: "pages" | "anyone"
  /** Another path of it. */
  readonly alias?: string
  /** Operators may use it: it starts and answers nothing. */
  readonly operators?: true
}

export const route = <const Path extends string, Query = object, Body = unknown>(
  description: Route<Path, Query, Body>,
): Route<Path, Query, Body> =>
  description.body === undefined ? description : { ...description, body: takingNulls(description.body) }

/** An answer in JSON. */
export const json = (description: string, schema: Schema<unknown>, headers?: readonly string[]): Answer => ({
  description,
  ...(headers !== undefined && { headers }),
  content: { "application/json": schema },
})

const noQuery: Schema<object> = closed({})

/** The schema of the query; null where the route ignores it. */
export const queryOf = ({ query }: Route): JsonObject | null => (query === undefined ? noQuery : query)

/** Every error that a route answers with. */
export function errorsOf({ body, bodyIs, open, errors = [] }: Route): ApiErrorKind[] {
  return [
    "invalid_request",
    ...(open === undefined ? (["unauthorized"] as const) : []),
    "forbidden",
    ...(body === undefined || bodyIs === "none" ? [] : (["payload_too_large", "unsupported_media_type"] as const)),
    ...(open === "anyone" ? [] : (["rate_limited"] as const)),
    ...errors,
  ]
}
