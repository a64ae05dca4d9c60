import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { messageItem, response } from "../support/fake-backend.ts"
import type { TestServer } from "../support/http-server.ts"
import { startServer } from "../support/http-server.ts"

/** The provider and model of a workflow that calls this backend. */
export function provider(
  backend: TestServer,
  inference = "max_retries: 0 output_retries: 0",
  kind: "openai" | "openai_chat" | "anthropic" | "google" = "openai",
): string {
  return `provider backend from ${kind} { endpoint: "${backend.origin}/v1" inference { ${inference} } }
model m from backend { id: "test-model" }`
}

/** A backend whose answer is this value. */
export function answered(answer: (n: number) => JsonValue): Promise<TestServer> {
  let n = 0
  return replied(() => response([messageItem(JSON.stringify(answer(n++)))]))
}

/** A backend whose answer is this body. */
export function replied(
  body: (request: JsonObject) => JsonObject | { status: number; body: JsonObject },
): Promise<TestServer> {
  return startServer((request, reply) => {
    const made = body(JSON.parse(request.body) as JsonObject)
    const status = "status" in made && typeof made["status"] === "number" ? made["status"] : 200
    const content = status === 200 ? made : made["body"]
    reply.writeHead(status, { "content-type": "application/json" })
    reply.end(JSON.stringify(content))
  })
}
