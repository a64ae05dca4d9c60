import type { FastifyReply } from "fastify"

/** The CORS headers that a reply carries, for an answer that is written past Fastify. */
export function corsOf(reply: FastifyReply): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if ((name === "vary" || name.startsWith("access-control-")) && value !== undefined) headers[name] = String(value)
  }
  return headers
}
