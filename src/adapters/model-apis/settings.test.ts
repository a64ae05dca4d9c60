import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../base/json-value.ts"
import type { Inference } from "../../plan/plan-shape.ts"
import type { ApiName } from "../../check/provider-kinds.ts"
import { ignoredByOpenAiChat, modelApis } from "../../check/provider-kinds.ts"
import { inferenceKeys } from "../../syntax/property-table.ts"
import { modelApi } from "../../cli/compose/model-apis.ts"
import type { ModelRequest } from "../../ports/model.ts"
import { SentBeginnings } from "../model-turn/sent-beginnings.ts"
import { BackendMemory } from "../model-turn/backend-memory.ts"

const clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }
const egress = {
  request: () => Promise.reject(new Error("not called")),
  fetch: () => Promise.reject(new Error("not called")),
  close: () => Promise.resolve(),
}

const all: Inference = {
  temperature: 0.1,
  top_p: 0.2,
  top_k: 3,
  frequency_penalty: 0.4,
  presence_penalty: 0.5,
  repeat_penalty: 1.6,
  max_tokens: 7,
  reasoning_effort: "low",
  verbosity: "high",
  seed: 8,
  stop: "end",
}

async function optionsOf(name: ApiName, endpoint: string, inference: Inference): Promise<JsonObject> {
  const api = modelApi(name)
  const quirks = new BackendMemory(clock).of("", name, endpoint, "m")
  const request: ModelRequest = {
    run_id: "r",
    caller: "",
    path: "agent.a",
    backend: { api: name, endpoint, api_key: null, headers: {} },
    model: "m",
    name: "m",
    provider: "openai",
    price: null,
    system: null,
    input: [],
    tools: [],
    contract: null,
    response_format: "auto",
    inference,
    turn: 1,
    attempts_before: 0,
    progress: null,
    deltas: false,
  }
  return api.begin({ request, beginnings: new SentBeginnings(clock), quirks, egress, endpoint }).options(false)
}

test("each API gets the settings under its own names", async () => {
  const { stream_options: _, ...chat } = await optionsOf("chat", "https://llm.test/v1", all)
  assert.deepEqual(chat, all)
  const { stream_options: __, ...openai } = await optionsOf("chat", "https://api.openai.com/v1", all)
  const { max_tokens, top_k, repeat_penalty, ...same } = all
  assert.ok(top_k !== undefined && repeat_penalty !== undefined)
  assert.deepEqual(openai, { ...same, max_completion_tokens: max_tokens })
  assert.deepEqual(await optionsOf("anthropic", "https://api.anthropic.com/v1", all), {
    max_tokens: 7,
    temperature: 0.1,
    top_p: 0.2,
    top_k: 3,
    stop_sequences: ["end"],
    output_config: { effort: "low" },
  })
  assert.deepEqual(await optionsOf("anthropic", "https://api.anthropic.com/v1", {}), { max_tokens: 8192 })
  assert.deepEqual(await optionsOf("google", "https://g.test/v1beta", all), {
    generationConfig: {
      temperature: 0.1,
      topP: 0.2,
      topK: 3,
      maxOutputTokens: 7,
      seed: 8,
      stopSequences: ["end"],
      frequencyPenalty: 0.4,
      presencePenalty: 0.5,
      thinkingConfig: { thinkingLevel: "low" },
    },
  })
})

test("what the checker calls ignored is what the API does not get, and nothing else", async () => {
  const here = new Set(["timeout_seconds", "max_retries", "retry_base_delay_ms", "output_retries", "extra"])
  const targets: [ApiName, string, readonly string[]][] = [
    ["responses", "https://llm.test/v1", modelApis.responses.ignores],
    ["chat", "https://llm.test/v1", modelApis.chat.ignores],
    ["chat", "https://api.openai.com/v1", ignoredByOpenAiChat],
    ["anthropic", "https://llm.test/v1", modelApis.anthropic.ignores],
    ["google", "https://llm.test/v1", modelApis.google.ignores],
  ]
  for (const [api, endpoint, ignored] of targets) {
    for (const key of inferenceKeys) {
      if (here.has(key)) continue
      const without = JSON.stringify(await optionsOf(api, endpoint, {}))
      const sent = JSON.stringify(await optionsOf(api, endpoint, { [key]: all[key] })) !== without
      assert.equal(sent, !ignored.includes(key), `${api} ${endpoint} ${key}`)
    }
  }
})
