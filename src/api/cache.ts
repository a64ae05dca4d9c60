import { json, route } from "./route.ts"
import { closed, integer, named, object, string, type Shape } from "../base/typed-schema.ts"

export type InvalidateAnswer = Shape<typeof purged>

const purged = named("Purged", object({ purged_entries: integer() }))

export const invalidateCache = route({
  id: "invalidateCache",
  method: "POST",
  path: "/cache/invalidate",
  group: "Runs",
  summary: "Drop the entries of one cache key",
  description: "Drops the cached answers of the caller under this cache key.",
  body: closed({ cache_key: string({ minLength: 1, maxLength: 1024 }) }),
  example: { cache_key: "tenant-1:42" },
  answers: { 200: json("How many were dropped.", purged) },
  errors: ["overloaded"],
})
