import type { JsonObject } from "../../base/json-value.ts"
import { bearer } from "../model-turn/request-headers.ts"
import { wholeLadder } from "../model-turn/output-format.ts"
import { modelApi } from "./api.ts"
import { openAiBatches } from "./openai-batches.ts"
import { apiUrl } from "./api-url.ts"
import { ResponsesFold } from "./fold-responses.ts"
import { otherApi, readResponses } from "./read-responses.ts"
import { formatText, itemsText, requestBody, toolsText, wireOptions } from "./responses-body.ts"
import { systemItem, toItems } from "./responses-history.ts"

/** OpenAI's `/responses`, and everything that is compatible with it. */
export const responsesApi = modelApi({
  name: "responses",
  ladder: wholeLadder,
  otherKind:
    'If it has no `/responses`, but `/chat/completions`, its provider is of the kind `openai_chat`, or the model has wire_api: "chat/completion"',
  strict_tools: true,
  unread: [],
  url: (endpoint) => apiUrl(endpoint, "/responses"),
  batches: openAiBatches("/v1/responses"),
  headers: ({ api_key }) => bearer(api_key),
  options: ({ inference }) => wireOptions(inference),
  /** Reasoning goes back to the model in the next turn of a tool loop; where it is hidden, in its encrypted form. */
  toolOptions: (options, { inference }, { hidesReasoning }): JsonObject => {
    const reasons = hidesReasoning || inference.reasoning_effort !== undefined
    if (!reasons || options["include"] !== undefined) return options
    return { ...options, include: ["reasoning.encrypted_content"] }
  },
  maxTokens: (most) => ({ max_output_tokens: most }),
  writer: ({ request, quirks }) => {
    // The conversation is turned into text once, and not for every attempt.
    let input: { readonly reasoning: boolean; readonly text: string } | null = null
    return ({ added, instruction, options, format, tools, hosted, stream }, reasoning) => {
      if (input?.reasoning !== reasoning) {
        input = { reasoning, text: itemsText(toItems(request.input, quirks.origin, reasoning)) }
      }
      return requestBody({
        model: request.model,
        system: request.system,
        input: [
          instruction === null ? "" : itemsText([systemItem(instruction)]),
          input.text,
          itemsText(toItems(added, quirks.origin, reasoning)),
        ],
        options,
        format: format === null ? null : formatText(format.formatLevel, format.form),
        tools: toolsText(tools, request.outputs === undefined ? hosted : withImages(hosted), !quirks.noToolStrict),
        stream,
      })
    }
  },
  read: readResponses,
  fold: () => new ResponsesFold(),
  problem: otherApi,
})

const images = { type: "image_generation" }

/** The tool that makes images, unless the workflow states it with its settings. */
function withImages(hosted: readonly JsonObject[]): readonly JsonObject[] {
  return hosted.some(({ type }) => type === images.type) ? hosted : [...hosted, images]
}
