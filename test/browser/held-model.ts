import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { after } from "node:test"
import { createDemoModel, demoRoute } from "../../src/demo/handle-demo.ts"
import { slowChain } from "./actions.ts"

/** The demo model behind a gate: what is seen while a run goes on does not depend on how fast anything is. */
export interface HeldModel {
  /** A workflow of one step after the other. Each answer stops half-way until `letOneGo` or `letAllGo`. */
  chain(steps: number): string
  letOneGo(): void
  letAllGo(): void
}

export async function startHeldModel(): Promise<HeldModel> {
  const model = createDemoModel({ slowFirstMs: 0, slowTokenMs: 0 })
  const waiting = new Set<() => void>()
  let free = 0

  /** Resolves when this answer may go on, or its caller has gone away. */
  const gate = (response: ServerResponse): Promise<void> =>
    new Promise((resolve) => {
      if (free > 0) {
        free--
        resolve()
        return
      }
      const go = (): void => {
        waiting.delete(go)
        resolve()
      }
      waiting.add(go)
      response.once("close", go)
    })

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const route = demoRoute(request.url ?? "")
    if (route === null) throw new Error(`No such path: ${request.url}`)
    const reply = await model.handle({ route, body: await text(request) })
    response.writeHead(reply.status, reply.headers)
    const pieces: string[] = []
    for await (const piece of typeof reply.body === "string" ? [reply.body] : reply.body) pieces.push(piece)
    const half = Math.ceil(pieces.length / 2)
    response.write(pieces.slice(0, half).join(""))
    await gate(response)
    response.end(pieces.slice(half).join(""))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/demo/v1`
  return {
    chain: (steps) => slowChain(steps, endpoint),
    letOneGo() {
      const [first] = waiting
      if (first === undefined) free++
      else first()
    },
    letAllGo() {
      free = Number.POSITIVE_INFINITY
      for (const go of waiting) go()
    },
  }
}
