import { isIP } from "node:net"

/** Whether only this machine reaches what listens there. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))
}
