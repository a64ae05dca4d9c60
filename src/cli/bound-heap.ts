import { setFlagsFromString } from "node:v8"

const flag = "--heap-growing-percent"

/**
 * Keeps the heap from growing to more than twice what is alive. V8 lets it grow to four times, of which most are runs that have ended.
 * An operator who gave Node another bound keeps it.
 */
export function boundHeap(): void {
  const given = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].some((text) => text.includes(flag))
  if (!given) setFlagsFromString(`${flag}=100`)
}
