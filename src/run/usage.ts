import type { Usage } from "./events.ts"

export const noUsage: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, reasoning_tokens: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cached_tokens: a.cached_tokens + b.cached_tokens,
    reasoning_tokens: a.reasoning_tokens + b.reasoning_tokens,
  }
}

/** Of the calls that reported theirs. */
export function usageOf(calls: readonly { readonly usage?: Usage }[]): Usage {
  return calls.reduce((sum, { usage }) => (usage === undefined ? sum : addUsage(sum, usage)), noUsage)
}
