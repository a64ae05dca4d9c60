import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import * as api from "../../api/operations.ts"
import { demoBatchPath } from "../../demo/demo-batches.ts"
import { answerDemo, demoRoute, type DemoModel } from "../../demo/handle-demo.ts"
import { stepsInTurns } from "../../event-loop/in-turns.ts"
import { callerOf } from "../caller-of.ts"
import { refuse } from "../http-error.ts"
import { openApiText } from "../openapi.ts"
import { encodePage, type Page } from "../playground-page.ts"
import { patternOf, serve } from "../serve-route.ts"
import type { ServerOptions } from "../server-options.ts"

/** Health, metrics, the OpenAPI document, the language guide, the demo model and the playground. */
export function operationRoutes(app: FastifyInstance, options: ServerOptions, isDraining: () => boolean): void {
  const { processes } = options
  serve(app, api.health, () => ({ status: "ok", ...(processes !== undefined && { processes: processes() }) }))
  // Anyone may ask, and a store that has failed is written to for each answer: those that ask at the same time share one.
  let asked: Promise<Readiness> | null = null
  serve(app, api.ready, async (_request, reply) => {
    asked ??= readiness(options).finally(() => (asked = null))
    const status = isDraining() ? "draining" : await asked
    if (status !== "ready") void reply.code(503).header("retry-after", "5")
    return { status }
  })
  serve(app, api.metrics, async (_request, reply) => {
    const { type, text } = await options.metrics.text()
    return reply.type(type).send(text)
  })
  // Bytes, which all answers share: with many workflows they are megabytes, and readers may be slow.
  let document: Promise<Buffer> | null = null
  options.folder?.onChange(() => (document = null))
  serve(app, api.openapi, async (_request, reply) => {
    await options.folder?.ready
    document ??= openApiDocument(options)
    return reply.type("application/json; charset=utf-8").send(await document)
  })
  guideRoute(app)
  if (options.demo !== null) demoRoutes(app, options.demo)
  if (options.playground !== null) playgroundRoutes(app, options.playground)
}

const consolePages = new Set(["runs", "questions", "workflows", "triggers", "budgets", "scores", "files", "health"])

/** Loaded by the first who asks: most services never tell it. */
function guideRoute(app: FastifyInstance): void {
  serve(app, api.llms, async (_request, reply) => {
    const { languageGuide } = await import("../../editor/guide/language-guide.ts")
    return reply.type("text/plain; charset=utf-8").send(languageGuide())
  })
}

async function openApiDocument({ version, keys, folder }: ServerOptions): Promise<Buffer> {
  const pieces: Buffer[] = []
  const text = openApiText(version, keys.length > 0, folder?.list() ?? [])
  await stepsInTurns(text, (piece) => pieces.push(Buffer.from(piece)))
  return Buffer.concat(pieces)
}

type Readiness = "ready" | "store unreachable" | "out of file descriptors"

async function readiness({ store, trouble }: ServerOptions): Promise<Readiness> {
  const before = trouble()
  if (before !== null) return before === "store" ? "store unreachable" : "out of file descriptors"
  try {
    await store.probe()
    return "ready"
  } catch {
    return "store unreachable"
  }
}

function demoRoutes(app: FastifyInstance, demo: DemoModel): void {
  for (const { path } of api.demoRoutes) {
    app.post(patternOf(path), { config: { errors: "openai" } }, async (request, reply) => {
      const route = demoRoute(request.url)
      if (route === null) throw refuse("not_found", "The demo model has no such address")
      reply.hijack()
      await answerDemo(demo, route, request, reply.raw)
      return reply
    })
  }
  demoBatchRoutes(app, demo)
}

/** The demo model's batch APIs: those of the vendors, for their SDKs, and no part of the service's own. Each caller sees its own files and batches. */
function demoBatchRoutes(app: FastifyInstance, demo: DemoModel): void {
  void app.register((scope, _options, done) => {
    // Files come as forms.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser("*", { parseAs: "string" }, (_request, body, parsed) => parsed(null, body))
    for (const path of ["files", "batches", "messages/batches"]) {
      for (const url of [`/demo/v1/${path}`, `/demo/v1/${path}/*`]) {
        scope.route({
          method: ["GET", "POST", "DELETE"],
          url,
          config: { errors: "openai", body: "none" },
          handler: async (request, reply) => {
            const { method, url: asked } = request
            const query = new URLSearchParams(asked.split("?")[1] ?? "")
            const path = demoBatchPath(asked) ?? ""
            const body = typeof request.body === "string" ? request.body : ""
            const answer = await demo.batch({ method, path, query, body, owner: callerOf(request) })
            return reply.code(answer.status).headers(answer.headers).send(answer.body)
          },
        })
      }
    }
    done()
  })
}

function playgroundRoutes(app: FastifyInstance, files: (path: string) => Page | undefined): void {
  const send = (request: FastifyRequest, reply: FastifyReply, path: string): FastifyReply => {
    const page = files(path)
    if (page === undefined) throw refuse("not_found", "The playground has no such file")
    const { headers, body } = encodePage(page, request.headers["accept-encoding"])
    return reply.headers(headers).send(body)
  }
  app.get("/", (_request, reply) => reply.redirect("/playground", 302))
  serve(app, api.playground, (request, reply) => send(request, reply, ""))
  app.get<{ Params: { "*": string } }>("/playground/*", (request, reply) => {
    const path = request.params["*"]
    return path === "" ? reply.redirect("/playground", 302) : send(request, reply, path)
  })
  for (const path of ["/console", "/console/"]) app.get(path, (_request, reply) => reply.redirect("/console/runs", 302))
  serve(app, api.console, (request, reply) => {
    const { page } = request.params
    if (!consolePages.has(page)) throw refuse("not_found", `The console has no page ${page.slice(0, 100)}`)
    return send(request, reply, "console.html")
  })
}
