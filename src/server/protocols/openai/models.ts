import type { FastifyInstance, FastifyRequest } from "fastify"
import { getModel, listModels } from "../../../api/openai.ts"
import type { JsonObject } from "../../../base/json-value.ts"
import { didYouMean } from "../../../base/did-you-mean.ts"
import { refuse, type HttpError } from "../../http-error.ts"
import type { RouteDependencies } from "../../route-dependencies.ts"
import { serve } from "../../serve-route.ts"
import { chatNames, findChat, type ChatWorkflow } from "../chat/chat-workflow.ts"

/** The workflows that can be talked to, as models. */
export function modelRoutes(app: FastifyInstance, parts: RouteDependencies): void {
  serve(app, listModels, async () => ({ object: "list", data: (await chatNames(parts)).map(modelObject) }))
  serve(app, getModel, async (request) => modelObject((await modelOf(parts, request, request.params["*"])).name))
}

function modelObject(id: string): JsonObject {
  // A file has no time of creation that would stay the same on every replica.
  return { id, object: "model", created: 0, owned_by: "wireworks" }
}

/** The workflow that a request names as its model. */
export async function modelOf(parts: RouteDependencies, request: FastifyRequest, name: string): Promise<ChatWorkflow> {
  const found = await findChat(parts, request, name)
  if (found !== null) return found
  throw noSuchModel(name, await chatNames(parts), parts.folder?.get(name) !== undefined)
}

function noSuchModel(name: string, known: readonly string[], isWorkflow: boolean): HttpError {
  const near = didYouMean(name, known)
  const shown = name.slice(0, 200)
  const message = isWorkflow
    ? `The workflow ${shown} has no \`chat\` block: it cannot be talked to`
    : `There is no model ${shown}${near === undefined ? "" : `. Did you mean ${near}?`}`
  return refuse("not_found", message, [{ path: "model", message, code: "model_not_found" }])
}
