import type { FastifyInstance, FastifyRequest } from "fastify"
import { refuse, type HttpError } from "./http-error.ts"

export function pathOf(request: FastifyRequest): string {
  return withoutQuery(request.url)
}

function withoutQuery(url: string): string {
  const end = url.indexOf("?")
  return end < 0 ? url : url.slice(0, end)
}

/** For a path that exists under another method, the answer names the methods that it takes. */
export function answerNoRoute(app: FastifyInstance): void {
  const known: { readonly method: string; readonly pattern: string }[] = []
  app.addHook("onRoute", ({ method, url }) => {
    for (const one of [method].flat()) known.push({ method: one, pattern: url })
  })
  const nothingThere = (request: FastifyRequest): HttpError => {
    const path = pathOf(request)
    // For an alias, the message names the path that the client sent.
    const sent = withoutQuery(request.originalUrl).slice(0, 200)
    const methods = known.filter(({ pattern }) => fitsPattern(path, pattern)).map(({ method }) => method)
    if (methods.length === 0) return refuse("not_found", `There is no route ${request.method} ${sent}`)
    const allow = [...new Set(methods)].join(", ")
    return refuse("method_not_allowed", `${sent} takes ${allow}`, [], { allow })
  }
  app.setNotFoundHandler((request) => {
    throw nothingThere(request)
  })
  // Before the body is looked at: of a path that is not there, its type says nothing.
  app.addHook("onRequest", (request, _reply, done) => done(request.is404 ? nothingThere(request) : undefined))
}

/** `/execute/1` fits `/execute/:run_id`, and everything below `/workflows/` fits `/workflows/*`. */
function fitsPattern(path: string, pattern: string): boolean {
  const parts = path.split("/")
  const wanted = pattern.split("/")
  if (wanted.at(-1) === "*" ? parts.length < wanted.length : parts.length !== wanted.length) return false
  return wanted.every((part, at) => part === "*" || part === parts[at] || (part.startsWith(":") && parts[at] !== ""))
}
