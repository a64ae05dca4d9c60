import { Counter, Gauge, Histogram, type Registry } from "prom-client"

/** Makes the metrics of one registry. */
export class Instruments {
  readonly #registers: Registry[]

  constructor(registry: Registry) {
    this.#registers = [registry]
  }

  counter<L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames, registers: this.#registers })
  }

  histogram<L extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly L[] = [],
  ): Histogram<L> {
    return new Histogram({ name, help, labelNames, buckets, registers: this.#registers })
  }

  gauge(name: string, help: string): Gauge {
    return new Gauge({ name, help, registers: this.#registers })
  }

  /** A gauge that is read when it is asked for. */
  liveGauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: this.#registers,
      collect() {
        this.set(read())
      },
    })
  }
}
