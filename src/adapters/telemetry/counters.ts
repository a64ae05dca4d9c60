import type { Metric, Registry } from "prom-client"

// Counters and histograms that runs count with. Those of prom-client check and hash the labels with each count, which takes three to ten
// times as long (docs/decisions/2026-11-17-counters.md). A registry of prom-client writes them out.

type Labels = Readonly<Record<string, string>>

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
}

/** The parts of a metric, by the values of its labels. */
class ByLabels<Part> {
  readonly #names: readonly string[]
  readonly #make: () => Part
  readonly #parts = new Map<string, { readonly labels: Labels; readonly part: Part }>()

  constructor(names: readonly string[], make: () => Part) {
    this.#names = names
    this.#make = make
  }

  of(values: readonly string[]): Part {
    const key = values.length === 1 ? (values[0] ?? "") : values.join("\n")
    let found = this.#parts.get(key)
    if (found === undefined) {
      // To Prometheus an empty label is one that is not there.
      const named = this.#names.map((name, at) => [name, values[at] ?? ""] as const)
      const labels = Object.fromEntries(named.filter(([, value]) => value !== ""))
      found = { labels, part: this.#make() }
      this.#parts.set(key, found)
    }
    return found.part
  }

  samples(samplesOf: (part: Part, labels: Labels) => readonly Sample[]): Sample[] {
    return [...this.#parts.values()].flatMap(({ part, labels }) => samplesOf(part, labels))
  }
}

export class Count {
  #value = 0

  get value(): number {
    return this.#value
  }

  add(amount = 1): void {
    this.#value += amount
  }
}

/** `Values` are those of its labels, in the order of their names. */
export class Counter<Values extends readonly string[]> {
  readonly #parts: ByLabels<Count>

  constructor(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
    const parts = new ByLabels(labelNames, () => new Count())
    this.#parts = parts
    if (labelNames.length === 0) parts.of([])
    register(registry, { name, help, type: "counter" }, () => parts.samples(({ value }, labels) => [{ labels, value }]))
  }

  /** The count with these labels, which is there from now on. */
  of(...values: Values): Count {
    return this.#parts.of(values)
  }
}

class Distribution {
  readonly #bounds: readonly number[]
  /** How many values each bound has that the bound before it has not. */
  readonly #counts: number[]
  #count = 0
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.#count++
    this.#sum += value
    const bounds = this.#bounds
    for (let at = 0; at < bounds.length; at++) {
      if (value > (bounds[at] ?? 0)) continue
      this.#counts[at] = (this.#counts[at] ?? 0) + 1
      return
    }
  }

  samples(name: string, labels: Labels): Sample[] {
    let upTo = 0
    const buckets = this.#bounds.map((le, at) => {
      upTo += this.#counts[at] ?? 0
      return { labels: { le, ...labels }, value: upTo, metricName: `${name}_bucket` }
    })
    return [
      ...buckets,
      { labels: { le: "+Inf", ...labels }, value: this.#count, metricName: `${name}_bucket` },
      { labels, value: this.#sum, metricName: `${name}_sum` },
      { labels, value: this.#count, metricName: `${name}_count` },
    ]
  }
}

/** `Values` are those of its labels, in the order of their names. */
export class Histogram<Values extends readonly string[]> {
  readonly #parts: ByLabels<Distribution>

  constructor(
    registry: Registry,
    name: string,
    help: string,
    bounds: readonly number[],
    labelNames: readonly string[],
  ) {
    const parts = new ByLabels(labelNames, () => new Distribution(bounds))
    this.#parts = parts
    if (labelNames.length === 0) parts.of([])
    register(registry, { name, help, type: "histogram" }, () =>
      parts.samples((part, labels) => part.samples(name, labels)),
    )
  }

  /** The distribution with these labels, which is there from now on. */
  of(...values: Values): Distribution {
    return this.#parts.of(values)
  }
}

/** A registry asks a metric for its name and for this. */
function register(
  registry: Registry,
  about: { readonly name: string; readonly help: string; readonly type: "counter" | "histogram" },
  values: () => readonly Sample[],
): void {
  const metric = { name: about.name, get: () => Promise.resolve({ ...about, values: values(), aggregator: "sum" }) }
  registry.registerMetric(metric as unknown as Metric)
}
