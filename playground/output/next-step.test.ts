import assert from "node:assert/strict"
import { test } from "node:test"
import type { ApiErrorKind } from "../../src/api/error-kinds.ts"
import { nextStep } from "./next-step.ts"

const after = (kind: ApiErrorKind, upstream_status?: number, hint?: string, path = ""): string =>
  nextStep({
    kind,
    message: "",
    issues: [
      {
        path,
        message: "",
        ...(upstream_status !== undefined && { upstream_status }),
        ...(hint !== undefined && { hint }),
      },
    ],
  }) ?? ""

test("the next step fits the status that the provider answered", () => {
  assert.match(after("provider_error", 401), /key/)
  assert.match(after("provider_error", 404), /model's id/)
  assert.match(after("provider_error", 429), /Wait/)
  for (const status of [500, 502, 503, 529]) {
    assert.match(after("provider_error", status), /problem of its own/)
    assert.doesNotMatch(after("provider_error", status), /key|endpoint|Check/)
  }
  assert.match(after("provider_error"), /endpoint/)
  assert.match(after("provider_error", 400), /did not accept the request/)
  assert.match(after("tool_error", 503), /problem of its own/)
})

test("an issue's own hint comes first, other errors go by their kind", () => {
  assert.equal(after("provider_error", 503, "Do this."), "Do this.")
  assert.match(after("overloaded"), /busy/)
})

test("what to do about a timeout depends on what took too long", () => {
  const late = (path: string): string => after("timeout", undefined, undefined, path)
  assert.match(late(""), /Options/)
  assert.match(late("options.limits.time_seconds"), /limit in Options/)
  assert.match(late("limits.time_seconds"), /limit in the workflow/)
  assert.match(late("agent.writer.limits.time_seconds"), /limit in the workflow/)
  assert.match(late("agent.writer[3]"), /timeout_seconds/)
  assert.match(late("ask.boss"), /expires_seconds/)
  assert.match(late("mcp.files"), /server/)
  assert.match(after("limit_exceeded", undefined, undefined, "options.limits.cost"), /limit in Options/)
  // An answer that was cut short was not a refusal.
  assert.doesNotMatch(after("provider_error", 200), /not accept/)
})
