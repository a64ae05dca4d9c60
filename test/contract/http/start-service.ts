import type { ServerResponse } from "node:http"
import { after } from "node:test"
import { Agent, setGlobalDispatcher } from "undici"
import type { OnlyInTests } from "../../../src/cli/compose/compose.ts"
import { readSettings } from "../../../src/cli/compose/settings.ts"
import { atEnd } from "../../support/at-end.ts"
import { compose } from "../../support/built-service.ts"
import { startServer } from "../../support/http-server.ts"
import { logOfTest } from "../../support/log-of-test.ts"

// An idle connection is closed by the client, long before the service would: on a busy machine both could do it at once, and a request fail.
setGlobalDispatcher(new Agent({ keepAliveMaxTimeout: 4_000 }))

export interface TestService {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly port: number
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  get(path: string, headers?: Record<string, string>): Promise<Response>
  stop(): Promise<void>
}

/** The whole service as it is built, in this process, over real HTTP on a free port. Settings by their variables, without `WIRE_`. */
export async function startService(
  variables: Readonly<Record<string, string>> = {},
  onlyInTests: OnlyInTests = {},
): Promise<TestService> {
  const usual = { PORT: "0", STORE: "memory", LOG_LEVEL: "silent", RATE_LIMIT: "0" }
  const environment = Object.fromEntries(
    Object.entries({ ...usual, ...variables }).map(([name, value]) => [`WIRE_${name}`, value]),
  )
  const { settings, wrong } = readSettings(environment, {})
  if (settings === null) throw new Error(wrong.join(" "))
  const { log, printIfFailed } = logOfTest()
  const service = await compose(settings, undefined, { log, ...onlyInTests })
  const url = await service.listen()
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= service.stop(0, "the test has ended"))
  after(async (context) => {
    await stop()
    printIfFailed(context)
  })
  atEnd(stop)
  return {
    url,
    port: Number(new URL(url).port),
    post: (path, body, headers = {}) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    get: (path, headers = {}) => fetch(`${url}${path}`, { headers }),
    stop,
  }
}

export interface ErrorBody {
  readonly error: {
    readonly kind: string
    readonly message: string
    readonly issues: readonly {
      readonly path: string
      readonly message: string
      readonly hint?: string
      readonly code?: string
      readonly upstream_status?: number
    }[]
  }
}

export async function errorOf(response: Response): Promise<ErrorBody["error"] & { readonly status: number }> {
  const { error } = (await response.json()) as ErrorBody
  return { ...error, status: response.status }
}

/** One agent on a backend that the test runs. */
export function oneAgent(endpoint: string, more = ""): string {
  return `
input { name: string }
provider backend from openai { endpoint: "${endpoint}" inference { max_retries: 0 output_retries: 0 } ${more} }
model m from backend { id: "test-model" }
agent reply {
    model: model.m
    instruction: "Greet {{ input.name }}."
    output { message: string }
}
output { message: agent.reply.message }
`
}

export const hello = oneAgent("demo").replace("test-model", "demo")
export const slow = oneAgent("demo").replace("test-model", "demo-slow")
export const ada = { name: "Ada" }

/** One agent whose backend answers no call until it is released: its run goes on for as long as the test needs it to. */
export async function heldAgent(): Promise<{ readonly source: string; readonly release: () => void }> {
  const held: ServerResponse[] = []
  let released = false
  const answer = (response: ServerResponse): void => {
    const content = [{ type: "output_text", text: '{"message":"done"}' }]
    const output = [{ type: "message", role: "assistant", content }]
    const text = JSON.stringify({ output, usage: { input_tokens: 1, output_tokens: 1 } })
    response.writeHead(200, { "content-type": "application/json" }).end(text)
  }
  const { origin } = await startServer((_request, response) => {
    if (released) answer(response)
    else held.push(response)
  })
  return {
    source: oneAgent(`${origin}/v1`),
    release() {
      released = true
      for (const response of held.splice(0)) answer(response)
    },
  }
}

/** Waits until a metric without labels has this value. */
export async function untilMetric(
  service: Pick<TestService, "get">,
  name: string,
  value: number,
  deadline_ms = 60_000,
): Promise<void> {
  const deadline = Date.now() + deadline_ms
  for (;;) {
    const text = await (await service.get("/metrics")).text()
    const found = new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]
    if (Number(found) === value) return
    if (Date.now() > deadline) throw new Error(`${name} did not become ${value}: ${found}`)
  }
}
