import assert from "node:assert/strict"
import { test } from "node:test"
import { CanonicalText, canonicalJson } from "../../base/canonical-json.ts"
import { assistantText, userText } from "../../log/messages.ts"
import type { CacheFacts, ModelFacts } from "./cache-key.ts"
import { factsText, fixedHash } from "./cache-key.ts"

const model: ModelFacts = {
  backend: new CanonicalText({
    api: "responses",
    endpoint: "https://example.com/v1",
    api_key: "[secret:key]",
    headers: { b: "1", a: "2" },
  }),
  model: "m\u2028",
  system: null,
}

const plain: CacheFacts = {
  fixed: fixedHash({ max_steps: 8, contract: { type: "object" }, calls: [] }),
  models: [model],
  context: null,
  messages: [userText('Say "hello"\n\ud83d')],
  tools: [],
  servers: [],
}

const others: Readonly<Record<string, Partial<CacheFacts>>> = {
  "plain facts": {},
  requirements: { requirements: [{ text: "a", op: "literal" }] },
  "a system text, tools and servers": {
    models: [{ ...model, system: "Be brief." }],
    tools: [{ name: "t", arguments: [] }],
    servers: [{ url: "https://example.com/mcp", name: "s" }],
  },
  "fallbacks and a history": {
    models: [model, { ...model, model: "other" }],
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
    // Facts are compared with those in logs of older releases: the text must not depend on how it is made.
    assert.equal(factsText(whole), canonicalJson(whole))
  })
}
