import type { JsonObject } from "../../src/base/json-value.ts"
import type { OptionTexts } from "../state/options.ts"
import cache from "./cache.wire"
import chain from "./chain.wire"
import context from "./context.wire"
import fanOut from "./fan-out.wire"
import hello from "./hello.wire"
import loop from "./loop.wire"
import variants from "./variants.wire"

export interface Example {
  readonly name: string
  /** What it shows, in a sentence. */
  readonly about: string
  readonly source: string
  readonly input: JsonObject
  readonly options?: Partial<OptionTexts>
}

/** The gallery, in the order of learning; the first one is what a first visit shows. */
export const examples: readonly [Example, ...Example[]] = [
  {
    name: "Hello",
    about: "One agent, one answer.",
    source: hello,
    input: { name: "Ada" },
  },
  {
    name: "Chain",
    about: "Three agents, each working on what the one before it wrote.",
    source: chain,
    input: { topic: "how owls find mice in the dark", audience: "beginners" },
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
    about: "One agent per file, several at a time, on a model that fails now and then.",
    source: loop,
    input: {
      files: [
        { path: "src/clock.ts", patch: "- return Date.now()\n+ return clock.now()" },
        { path: "src/retry.ts", patch: "- const most = 3\n+ const most = settings.retries" },
        { path: "src/store.ts", patch: "+ await store.flush()" },
        { path: "test/retry.test.ts", patch: "+ assert.equal(tries, 3)" },
      ],
    },
  },
  {
    name: "Variants and match",
    about: "An answer of one of several kinds, and values chosen by its kind.",
    source: variants,
    input: {
      message: "Could somebody tell me when my order will arrive?",
      channel: { kind: "chat", room: "orders", urgent: true },
    },
  },
  {
    name: "Context and compaction",
    about: "Agents that go on from another's messages, whole or summarised first.",
    source: context,
    input: { question: "Why do cities hum at night?" },
  },
  {
    name: "Cache",
    about: "With a cache key, the second run answers at once.",
    source: cache,
    input: { city: "Lisbon" },
    options: { cache_key: "playground" },
  },
]
