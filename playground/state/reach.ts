import { computed } from "@preact/signals"
import type { Reach } from "../../src/trust/reach-shape.ts"
import { reachOf } from "../../src/trust/reach.ts"
import { resultTab } from "./layout.ts"
import { lastGood } from "./source.ts"

/** What the workflow can do at most; null before there is one without errors. */
export const reach = computed((): Reach | null => {
  const { program } = lastGood.value
  return program === undefined ? null : reachOf(program)
})

/** Whether the graph shows the ways of strangers' words and of private data. */
export const showsWays = computed(() => resultTab.value === "reach")

export interface Labels {
  readonly untrusted: boolean
  readonly private: boolean
}

const none: Labels = { untrusted: false, private: false }

/** What one step reads of another, by `from to`; of all that it reads, by its id. */
const ways = computed((): ReadonlyMap<string, Labels> => {
  const found = new Map<string, Labels>()
  if (!showsWays.value) return found
  for (const { from, to, ...labels } of reach.value?.ways ?? []) {
    for (const key of [`${from} ${to}`, to]) {
      const known = found.get(key) ?? none
      found.set(key, {
        untrusted: known.untrusted || labels.untrusted,
        private: known.private || labels.private,
      })
    }
  }
  return found
})

/** What flows along an edge; what a step reads. Of a closed group: of any step in it. */
export function labelsOf(from: readonly string[] | null, to: readonly string[]): Labels {
  let labels = none
  for (const target of to) {
    for (const key of from === null ? [target] : from.map((one) => `${one} ${target}`)) {
      const { untrusted, private: secret } = ways.value.get(key) ?? none
      labels = { untrusted: labels.untrusted || untrusted, private: labels.private || secret }
    }
  }
  return labels
}
