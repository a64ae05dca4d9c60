import { Gauge, type Registry } from "prom-client"
import { Counter, Histogram } from "./counters.ts"

/** One value for each name of a label. */
export type ValuesOf<Names extends readonly string[]> = { readonly [At in keyof Names]: string }

/** Makes the metrics of one registry. */
export class Instruments {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  counter<const Names extends readonly string[] = readonly []>(
    name: string,
    help: string,
    labelNames?: Names,
  ): Counter<ValuesOf<Names>> {
    return new Counter(this.#registry, name, help, labelNames ?? [])
  }

  histogram<const Names extends readonly string[] = readonly []>(
    name: string,
    help: string,
    bounds: readonly number[],
    labelNames?: Names,
  ): Histogram<ValuesOf<Names>> {
    return new Histogram(this.#registry, name, help, bounds, labelNames ?? [])
  }

  gauge<const Names extends readonly string[] = readonly []>(
    name: string,
    help: string,
    labelNames?: Names,
  ): Gauge<Names[number]> {
    return new Gauge({ name, help, labelNames: labelNames ?? [], registers: [this.#registry] })
  }

  /** A gauge that is read when it is asked for. */
  liveGauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read())
      },
    })
  }
}
