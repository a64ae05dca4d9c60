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
import files from "../../examples/files.wire"
import filesInput from "../../examples/files.input.json" with { type: "json" }
import limits from "../../examples/limits.wire"
import limitsInput from "../../examples/limits.input.json" with { type: "json" }
import lists from "../../examples/lists.wire"
import listsInput from "../../examples/lists.input.json" with { type: "json" }
import loop from "../../examples/loop.wire"
import loopInput from "../../examples/loop.input.json" with { type: "json" }
import variants from "../../examples/variants.wire"
import variantsInput from "../../examples/variants.input.json" with { type: "json" }
import chain from "./chain.wire"
import fanOut from "./fan-out.wire"
import mcpTools from "./mcp-tools.wire"
import type { NewContent } from "../files/files.ts"

type Content = Pick<NewContent, "source" | "input" | "options">

/** The texts of the examples: a file of their own, loaded when the menu opens. */
export const contents: Readonly<Record<string, Content>> = {
  Chain: { source: chain, input: chainInput },
  "Fan-out and join": {
    source: fanOut,
    input: {
      text: "Our new kettle boils a litre of water in ninety seconds and is loved by everyone who has tried it.",
    },
  },
  Loop: { source: loop, input: loopInput },
  Lists: { source: lists, input: listsInput },
  Conditions: { source: conditions, input: conditionsInput },
  "Variants and match": { source: variants, input: variantsInput },
  "Context and compaction": { source: context, input: contextInput },
  "Fallback models": { source: fallback, input: fallbackInput },
  "Cost and limits": { source: limits, input: limitsInput },
  Files: { source: files, input: { ...filesInput, notes: [] } },
  "MCP tools": { source: mcpTools, input: { reader: "Ada", topic: "the owl at night" } },
  People: { source: approval, input: approvalInput },
  Cache: { source: cache, input: cacheInput, options: { cache_key: "playground" } },
}
