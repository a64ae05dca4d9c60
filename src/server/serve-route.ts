import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from "fastify"
import { queryOf, type Route } from "../api/route.ts"
import { sourceTypes } from "./read-body.ts"

declare module "fastify" {
  interface FastifyContextConfig {
    /** Operators may use the route. */
    operators?: true
  }
}

/** The parameters of a path; those of a part with a star are one, named `*`. */
type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name extends `${string}*`
    ? { readonly "*": string }
    : { readonly [Key in Name]: string } & ParamsOf<Rest>
  : unknown

type Handler<Path extends string, Query, Body> = (
  request: FastifyRequest<{ Params: ParamsOf<Path>; Querystring: Query; Body: Body }>,
  reply: FastifyReply,
) => unknown

/** `/execute/:run_id` of `/execute/{run_id}`. A part with a star takes the rest of the path, whatever follows it. */
export const patternOf = (path: string): string => path.replace(/\{\w+\*\}.*/, "*").replaceAll(/\{(\w+)\}/g, ":$1")

const plain = { schema: { type: "string" } }

/** Answers a route by its description: a request that does not fit is refused before the handler sees it. */
export function serve<Path extends string, Query, Body>(
  app: FastifyInstance,
  route: Route<Path, Query, Body>,
  handler: Handler<Path, Query, Body>,
): void {
  const { method, path, body, bodyIs, operators } = route
  const query = queryOf(route)
  const ofSource = { content: { "application/json": { schema: body }, ...bySourceType } }
  app.route({
    method,
    url: patternOf(path),
    schema: {
      ...(query !== null && { querystring: query }),
      ...(body !== undefined && { body: bodyIs === "source" ? ofSource : body }),
    },
    config: {
      ...(bodyIs !== undefined && { body: bodyIs }),
      ...(operators !== undefined && { operators }),
    },
    handler: handler as unknown as RouteHandlerMethod,
  })
}

const bySourceType = Object.fromEntries(sourceTypes.map((type) => [type, plain]))
