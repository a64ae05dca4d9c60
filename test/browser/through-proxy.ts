import { atEnd } from "../support/at-end.ts"
import type { CuttingProxy } from "../support/cutting-proxy.ts"
import { cuttingProxy } from "../support/cutting-proxy.ts"
import type { Playground } from "./open-playground.ts"

/** What the browser reports about a connection that was cut. */
export const networkErrors = /Failed to load resource|net::ERR/

/** A connection to the service that the test cuts. */
export async function throughProxy(playground: Playground): Promise<CuttingProxy> {
  const proxy = await cuttingProxy(playground.address)
  atEnd(() => proxy.close())
  return proxy
}
