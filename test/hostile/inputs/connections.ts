import type { Socket } from "node:net"
import { connect } from "node:net"
import { startServer } from "../../support/http-server.ts"
import { answered, provider } from "../hostile-backend.ts"
import type { Hostile } from "../hostile-input.ts"
import { sends } from "../hostile-input.ts"
import type { HostileService } from "../hostile-service.ts"

/** Connections that are open and send what a test writes, and no more. */
async function hold(service: HostileService, count: number, text: (at: number) => string): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(service.port, "127.0.0.1"))
  await Promise.all(
    sockets.map(
      (socket, at) =>
        new Promise<void>((resolve) => {
          socket.on("error", () => resolve())
          socket.once("connect", () => socket.write(text(at), () => resolve()))
        }),
    ),
  )
  return sockets
}

export const connections: readonly Hostile[] = [
  {
    name: "500 connections whose requests never end",
    kinds: [],
    prepare: (service, during) => {
      const open: Socket[] = []
      during(() => open.forEach((socket) => socket.destroy()))
      return Promise.resolve(async () => {
        open.push(...(await hold(service, 250, () => "POST /execute HTTP/1.1\r\nhost: localhost\r\nx-a: b\r\n")))
        const head = `POST /execute HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer attacker\r\n`
        const rest = `content-type: application/json\r\ncontent-length: 1000000\r\n\r\n{"workflow_source":"`
        open.push(...(await hold(service, 250, () => head + rest)))
        return []
      })
    },
  },
  {
    name: "150 bodies of 8 MB that stop short of their end",
    kinds: [],
    prepare: (service, during) => {
      const open: Socket[] = []
      during(() => open.forEach((socket) => socket.destroy()))
      return Promise.resolve(async () => {
        const head = `POST /execute HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer attacker\r\n`
        const rest = `content-type: application/json\r\ncontent-length: 8000001\r\n\r\n${" ".repeat(8_000_000)}`
        // One after the other: what a connection has not sent yet takes the memory of the test.
        for (let at = 0; at < 150; at++) open.push(...(await hold(service, 1, () => head + rest)))
        return []
      })
    },
  },
  {
    name: "40 readers that never read a stream of large events",
    kinds: [null],
    prepare: async (service, during) => {
      const backend = await answered(() => ({ message: "x".repeat(200_000) }))
      const open: Socket[] = []
      during(() => backend.close())
      during(() => open.forEach((socket) => socket.destroy()))
      const agents = Array.from(
        { length: 40 },
        (_, at) => `agent a${at} { model: model.m instruction: "Go." output { message: string } }`,
      )
      const workflow_source = `${provider(backend)}\n${agents.join("\n")}\noutput { m: agent.a0.message }`
      const body = JSON.stringify({ workflow_source })
      return async () => {
        const lines = [
          "POST /execute HTTP/1.1",
          "host: localhost",
          "authorization: Bearer attacker",
          "accept: text/event-stream",
          "content-type: application/json",
          "idempotency-key: the-same",
          `content-length: ${Buffer.byteLength(body)}`,
        ]
        const sockets = await hold(service, 40, () => `${lines.join("\r\n")}\r\n\r\n${body}`)
        for (const socket of sockets) socket.pause()
        open.push(...sockets)
        await service.otherRun()
        // The same run again: answered at its end.
        return [await service.post("/execute", body, { "idempotency-key": "the-same" })]
      }
    },
  },
  {
    name: "300 runs whose backend never answers",
    kinds: ["rate_limited", null],
    settings: { WIRE_MAX_RUNS: "20", WIRE_MAX_QUEUED: "100" },
    prepare: async (service, during) => {
      const backend = await startServer(() => {})
      during(() => backend.close())
      const source = `${provider(backend)}
agent a { model: model.m instruction: "Go." output { message: string } }
output { m: agent.a.message }`
      const gone = new AbortController()
      during(() => gone.abort())
      return async () => {
        const headers = { "content-type": "application/json", accept: "text/event-stream" }
        const body = JSON.stringify({ workflow_source: source })
        const answers = []
        for (let n = 0; n < 300; n++) {
          const response = await fetch(`${service.address}/execute`, {
            method: "POST",
            headers: { ...headers, authorization: "Bearer attacker" },
            body,
            signal: gone.signal,
          })
          const refused = response.status === 200 ? null : ((await response.json()) as { error: { kind: string } })
          answers.push({ status: response.status, kind: refused?.error.kind ?? null, text: "" })
        }
        if (!answers.some(({ kind }) => kind === "rate_limited")) throw new Error("None of the runs was refused")
        return answers
      }
    },
  },
  sends("200 connections, each with another source of 16 KB that has hundreds of mistakes", [null], (service) => {
    const mistakes = Array.from({ length: 520 }, (_, at) => `output { x${at}: agent.q.z }`).join("\n")
    return Promise.all(
      Array.from({ length: 200 }, (_, at) => service.post("/validate", { workflow_source: `// ${at}\n${mistakes}` })),
    )
  }),
  sends(
    "a flood past the rate limit",
    [null, "rate_limited"],
    async (service) => {
      const answers = []
      for (let round = 0; round < 10; round++) {
        answers.push(...(await Promise.all(Array.from({ length: 100 }, () => service.send("/openapi.json")))))
      }
      return answers
    },
    { WIRE_RATE_LIMIT: "50" },
  ),
]
