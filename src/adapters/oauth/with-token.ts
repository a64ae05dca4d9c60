import type { Egress } from "../../ports/egress.ts"
import { openGate } from "../../ports/gate.ts"
import type { Tokens, TokenUse } from "./tokens.ts"

const neverAborted = new AbortController().signal

/**
 * The same egress, which signs in: requests to the origin of the server carry a token. One that is answered with 401 is sent once more,
 * with a new token.
 */
export function withToken(egress: Egress, tokens: Tokens, use: TokenUse): Egress {
  const isOwn = (url: string | URL): boolean => URL.parse(String(url))?.origin === use.origin
  return {
    async request(request) {
      if (!isOwn(request.url)) return egress.request(request)
      const send = async (
        refused: string | null,
      ): Promise<readonly [Awaited<ReturnType<Egress["request"]>>, string]> => {
        const token = await tokens.get(use, egress, request.gate, request.signal, refused)
        const headers = { ...request.headers, authorization: `Bearer ${token}` }
        return [await egress.request({ ...request, headers }), token]
      }
      const [response, token] = await send(null)
      if (response.status !== 401) return response
      response.discard()
      return (await send(token))[0]
    },
    async fetch(url, init = {}, options, gate = openGate) {
      if (!isOwn(url)) return egress.fetch(url, init, options, gate)
      const send = async (refused: string | null): Promise<readonly [Response, string]> => {
        const token = await tokens.get(use, egress, gate, init.signal ?? neverAborted, refused)
        const headers = new Headers(init.headers)
        headers.set("authorization", `Bearer ${token}`)
        return [await egress.fetch(url, { ...init, headers }, options, gate), token]
      }
      const [response, token] = await send(null)
      if (response.status !== 401) return response
      await response.body?.cancel()
      return (await send(token))[0]
    },
    close: () => egress.close(),
  }
}
