import assert from "node:assert/strict"
import { test } from "node:test"
import { CanonicalText, canonicalJson } from "../../base/canonical-json.ts"
import { assistantText, userText } from "../../ports/messages.ts"
import type { CacheFacts } from "./cache-key.ts"
import { factsText } from "./cache-key.ts"

const plain: CacheFacts = {
  backend: new CanonicalText({
    api: "responses",
    endpoint: "https://example.com/v1",
    api_key: "[secret:key]",
    headers: { b: "1", a: "2" },
  }),
  model: "m\u2028",
  system: null,
  inference: { temperature: 0.5, max_tokens: 10 },
  response_format: "auto",
  max_steps: 8,
  context: null,
  messages: [userText('Say "hello"\n\ud83d')],
  tools: [],
  servers: [],
  contract: new CanonicalText({ type: "object", properties: {}, additionalProperties: false }),
}

const others: Readonly<Record<string, Partial<CacheFacts>>> = {
  "plain facts": {},
  "a system text, tools and servers": {
    system: "Be brief.",
    tools: [{ name: "t", arguments: [] }],
    servers: [{ url: "https://example.com/mcp", name: "s" }],
  },
  "fallbacks and a history": {
    fallbacks: [{ ...plain, model: "other" }],
    context: { history: [userText("a"), assistantText("b")], compact: null },
  },
  "several messages of several parts": {
    messages: [
      {
        role: "user",
        parts: [
          { type: "text", text: "a" },
          { type: "image", url: "https://example.com/a.png" },
        ],
      },
      { role: "user", parts: [{ type: "document", url: "data:,a", name: null }] },
      { role: "tool", call_id: "1", name: "t", output: "{}" },
    ],
  },
}

for (const [what, facts] of Object.entries(others)) {
  test(`the text of ${what} is its canonical JSON`, () => {
    const whole: CacheFacts = { ...plain, ...facts }
    // Facts are compared with those in logs of older releases, which had this text.
    assert.equal(factsText(whole), canonicalJson(whole))
  })
}
