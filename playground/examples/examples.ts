import approval from "../../examples/approval.wire"
import approvalInput from "../../examples/approval.input.json" with { type: "json" }
import cache from "../../examples/cache-friendly.wire"
import cacheInput from "../../examples/cache-friendly.input.json" with { type: "json" }
import chainInput from "../../examples/chain.input.json" with { type: "json" }
import conditions from "../../examples/conditions.wire"
import conditionsInput from "../../examples/conditions.input.json" with { type: "json" }
import context from "../../examples/context.wire"
import contextInput from "../../examples/context.input.json" with { type: "json" }
import fallback from "../../examples/fallback.wire"
import fallbackInput from "../../examples/fallback.input.json" with { type: "json" }
import hello from "../../examples/hello.wire"
import helloInput from "../../examples/hello.input.json" with { type: "json" }
import limits from "../../examples/limits.wire"
import limitsInput from "../../examples/limits.input.json" with { type: "json" }
import loop from "../../examples/loop.wire"
import loopInput from "../../examples/loop.input.json" with { type: "json" }
import variants from "../../examples/variants.wire"
import variantsInput from "../../examples/variants.input.json" with { type: "json" }
import type { JsonObject } from "../../src/base/json-value.ts"
import type { OptionTexts } from "../state/options.ts"
import chain from "./chain.wire"
import fanOut from "./fan-out.wire"
import mcpTools from "./mcp-tools.wire"

export interface Example {
  readonly name: string
  /** What it shows, in a sentence. */
  readonly about: string
  readonly source: string
  readonly input: JsonObject
  readonly options?: Partial<OptionTexts>
}

/**
 * The gallery, in the order of learning; the first one is what a first visit shows. Those of `examples/` where they fit;
 * the chain and the fan-out are on a slower model here, so that one can watch them, and the tools are those of the demo.
 */
export const examples: readonly [Example, ...Example[]] = [
  { name: "Hello", about: "One agent, one answer.", source: hello, input: helloInput },
  {
    name: "Chain",
    about: "Three agents, each working on what the one before it wrote.",
    source: chain,
    input: chainInput,
  },
  {
    name: "Fan-out and join",
    about: "Three agents side by side, and one that joins their findings.",
    source: fanOut,
    input: {
      text: "Our new kettle boils a litre of water in ninety seconds and is loved by everyone who has tried it.",
    },
  },
  {
    name: "Loop",
    about: "One step for every file, several at a time, on a model that fails now and then.",
    source: loop,
    input: loopInput,
  },
  {
    name: "Conditions",
    about: "Steps that run only when they are needed, and values chosen by what was found.",
    source: conditions,
    input: conditionsInput,
  },
  {
    name: "Variants and match",
    about: "An answer of one of several kinds, and values chosen by its kind.",
    source: variants,
    input: variantsInput,
  },
  {
    name: "Context and compaction",
    about: "Agents that go on from another's messages, whole or summarised first.",
    source: context,
    input: contextInput,
  },
  {
    name: "Fallback models",
    about: "A list of models: the next one goes on when one has failed for good.",
    source: fallback,
    input: fallbackInput,
  },
  {
    name: "Cost and limits",
    about: "What calls cost, and what the run and its agents may use at most.",
    source: limits,
    input: limitsInput,
  },
  {
    name: "MCP tools",
    about: "Tools, resources and prompts of an MCP server, called by the workflow and by an agent.",
    source: mcpTools,
    input: { reader: "Ada", topic: "the owl at night" },
  },
  {
    name: "People",
    about: "A person answers a question about what an agent wrote, and approves a tool call.",
    source: approval,
    input: approvalInput,
  },
  {
    name: "Cache",
    about: "With a cache key, the second run answers at once.",
    source: cache,
    input: cacheInput,
    options: { cache_key: "playground" },
  },
]
