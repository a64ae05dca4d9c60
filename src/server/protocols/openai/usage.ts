import type { JsonObject } from "../../../base/json-value.ts"
import type { Usage } from "../../../log/events.ts"

/** Token counts in the form of `/responses`. */
export function responseUsage(usage: Usage): JsonObject {
  const { input_tokens, output_tokens, cached_tokens, written_tokens, reasoning_tokens } = usage
  return {
    input_tokens,
    input_tokens_details: { cached_tokens, cache_write_tokens: written_tokens },
    output_tokens,
    output_tokens_details: { reasoning_tokens },
    total_tokens: input_tokens + output_tokens,
  }
}

/** Usage in the fields of chat completions. */
export function completionUsage(usage: Usage): JsonObject {
  const { input_tokens, output_tokens, cached_tokens, written_tokens, reasoning_tokens } = usage
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens: input_tokens + output_tokens,
    prompt_tokens_details: { cached_tokens, cache_write_tokens: written_tokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
