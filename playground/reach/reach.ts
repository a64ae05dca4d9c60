import { computed, effect, signal } from "@preact/signals"
import type { Reach } from "../../src/trust/reach-shape.ts"
import { activeFile } from "../files/files.ts"
import { ask } from "../language/ask.ts"
import { resultTab } from "../page/layout.ts"
import { lastGood } from "../language/source.ts"

/** Whether the graph shows the ways of strangers' words and of private data. */
export const showsWays = computed(() => resultTab.value === "reach")

/** The newest that the worker has found, and the file that it is of. */
const found = signal<{ readonly file: string; readonly reach: Reach } | null>(null)

effect(() => {
  const file = activeFile.value
  const { source } = lastGood.value
  if (!showsWays.value || source === undefined) return
  ask("reach", source).then(
    (reach) => {
      if (reach !== null) found.value = { file, reach }
    },
    () => undefined,
  )
})

/** What the workflow can do at most; null before it is known, and before there is one without errors. */
export const reach = computed((): Reach | null => {
  return found.value?.file === activeFile.value ? found.value.reach : null
})

export interface Labels {
  readonly untrusted: boolean
  readonly private: boolean
}

const none: Labels = { untrusted: false, private: false }

/** What one step reads of another, by `from to`; of all that it reads, by its id. */
const ways = computed((): ReadonlyMap<string, Labels> => {
  const labelled = new Map<string, Labels>()
  if (!showsWays.value) return labelled
  for (const { from, to, ...labels } of reach.value?.ways ?? []) {
    for (const key of [`${from} ${to}`, to]) {
      const known = labelled.get(key) ?? none
      labelled.set(key, {
        untrusted: known.untrusted || labels.untrusted,
        private: known.private || labels.private,
      })
    }
  }
  return labelled
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
