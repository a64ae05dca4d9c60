declare module "autocannon" {
  import type { EventEmitter } from "node:events"

  interface Result {
    readonly errors: number
    readonly non2xx: number
    readonly requests: { readonly total: number }
  }

  interface Instance extends EventEmitter, PromiseLike<Result> {
    on(event: "response", listener: (client: unknown, status: number, bytes: number, ms: number) => void): this
  }

  interface Options {
    readonly url: string
    readonly method: string
    readonly body: string
    readonly headers: Readonly<Record<string, string>>
    readonly connections: number
    readonly amount: number
    /** Seconds. */
    readonly timeout: number
  }

  function autocannon(options: Options): Instance
  export = autocannon
}
