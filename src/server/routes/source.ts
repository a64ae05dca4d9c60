import type { FastifyInstance } from "fastify"
import { formatBody, noQuery, validateBody } from "../../api/schemas.ts"
import type { FormatAnswer, FormatBody, ValidateBody } from "../../api/shapes.ts"
import { HttpError } from "../http-error.ts"
import type { RouteDependencies } from "../parts.ts"
import { prefers } from "../prefers.ts"
import { sourceTypes } from "../read-body.ts"
import { readSource } from "../read-source.ts"

const plain = { schema: { type: "string" } }
const plainOrJson = (schema: object) => ({
  content: { "application/json": { schema }, ...Object.fromEntries(sourceTypes.map((type) => [type, plain])) },
})

/** `POST /validate` and `POST /format`: what can be said of a source without running it. */
export function sourceRoutes(app: FastifyInstance, { compiler }: Pick<RouteDependencies, "compiler">): void {
  app.post(
    "/validate",
    { schema: { body: plainOrJson(validateBody), querystring: noQuery }, config: { body: "source" } },
    async (request, reply) => {
      const body = request.body as ValidateBody | string
      const source = readSource(body)
      const { input, secrets } = typeof body === "string" ? {} : body
      const answer = await compiler.validate({ kind: "validate", source, input, secrets })
      return reply.type("application/json; charset=utf-8").send(answer)
    },
  )

  app.post(
    "/format",
    { schema: { body: plainOrJson(formatBody), querystring: noQuery }, config: { body: "source" } },
    async (request, reply) => {
      const outcome = await compiler.format(readSource(request.body as FormatBody | string))
      if ("error" in outcome) throw new HttpError(outcome.error)
      const asText = prefers(request.headers.accept ?? "", "text/plain", "application/json")
      if (asText) return reply.type("text/plain; charset=utf-8").send(outcome.formatted)
      return { formatted_workflow_source: outcome.formatted, changed: outcome.changed } satisfies FormatAnswer
    },
  )
}
