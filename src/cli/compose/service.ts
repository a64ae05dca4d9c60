import { standardError, standardOutput } from "../terminal/screen.ts"
import { setFlagsFromString } from "node:v8"
import type { Service } from "./compose.ts"
import { banner } from "./banner.ts"
import type { ProcessLink } from "./processes/link.ts"
import type { Settings } from "./settings.ts"
import { stopSignal } from "../terminal/stop-signal.ts"

/** How long a stop waits for what is under way. */
const graceMs = 10_000

/** Runs the service until it is stopped. Resolves to the exit code. */
export async function serve(settings: Settings): Promise<number> {
  if (settings.processes === 1) return serveHere(settings, null)
  const { serveTogether } = await import("./processes/serve-together.ts")
  return serveTogether(settings, serveHere)
}

/** `link`: to the other processes of the service. */
async function serveHere(settings: Settings, link: ProcessLink | null): Promise<number> {
  boundHeap()
  const { isRefusal, openStore, tooFewToStart } = await import("./open-store.ts")
  const tooFew = tooFewToStart()
  if (tooFew !== null) {
    standardError.print(tooFew)
    return 1
  }
  // The store's thread starts while the larger part of the service is still being read.
  const opening = openStore(settings)
  opening.catch(() => undefined)
  const { compose } = await import("./compose.ts")
  let service: Service
  try {
    service = await compose(settings, opening, {}, link)
  } catch (error) {
    if (!isRefusal(error)) throw error
    standardError.print(error.message)
    await opening.then(
      ({ store }) => store.close(),
      () => undefined,
    )
    return 1
  }
  const stop = stopSignal()
  let address: string
  try {
    address = await service.listen()
  } catch (error) {
    stop.ignore()
    standardError.print(whyNotListening(error, settings))
    await service.stop(0, null)
    return 1
  }
  const listens = service.bound() ?? address
  const { egress, workflows } = service
  if (link === null) standardOutput.print(banner({ address, listens, egress, workflows }, settings))
  else link.listening({ address, listens, egress, workflows })
  await service.stop(graceMs, await (link === null ? stop.asked : Promise.race([stop.asked, link.stopAsked])))
  return 0
}

function whyNotListening(error: unknown, { host, port }: Settings): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "EADDRINUSE") return `Port ${port} of ${host} is taken: set WIRE_PORT to another one.`
  if (code === "EACCES") return `Port ${port} needs more rights: set WIRE_PORT to 1024 or more.`
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return `${host} is not an address of this machine: set WIRE_HOST to one, or to 0.0.0.0 for all.`
  }
  return `Cannot listen on ${host}:${port}: ${String(error)}`
}

const heapFlag = "--heap-growing-percent"

/**
 * Keeps the heap from growing to more than twice what is alive. V8 lets it grow to four times, of which most are runs that have ended.
 * An operator who gave Node another bound keeps it.
 */
function boundHeap(): void {
  const given = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].some((text) => text.includes(heapFlag))
  if (!given) setFlagsFromString(`${heapFlag}=100`)
}
