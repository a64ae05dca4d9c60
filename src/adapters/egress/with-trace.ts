import type { Egress } from "../../ports/egress.ts"
import { bareHost, type HostRule, matchesHost, parseHostRule, portOf } from "./policy.ts"

/** Which backends get the trace of a run: `traceparent`, `tracestate` and `baggage`. */
export type TraceTargets =
  | { readonly kind: "none" }
  | { readonly kind: "all" }
  | { readonly kind: "hosts"; readonly hosts: readonly HostRule[] }

/** Reads the setting `WIRE_TRACE_HOSTS`: `none`, `all`, or hosts with commas between them. Null where it is none of these. */
export function parseTraceTargets(text: string): TraceTargets | null {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
  const [first] = entries
  if (entries.length === 1 && (first === "none" || first === "all")) return { kind: first }
  const hosts: HostRule[] = []
  for (const entry of entries) {
    const rule = /^(?:none|all|on|off|true|false)$/i.test(entry) ? null : parseHostRule(entry)
    if (rule === null) return null
    hosts.push(rule)
  }
  return hosts.length === 0 ? null : { kind: "hosts", hosts }
}

export function takesTrace(targets: TraceTargets, address: string | URL): boolean {
  if (targets.kind !== "hosts") return targets.kind === "all"
  const url = URL.parse(String(address))
  if (url === null) return false
  const destination = { host: bareHost(url), port: portOf(url) }
  return targets.hosts.some((rule) => matchesHost(rule, destination))
}

/**
 * The same egress, which adds the headers of a trace to requests to the backends that may have them. Headers that a workflow sets itself win. A
 * redirect to another origin loses them, as it loses all others.
 */
export function withTrace(
  egress: Egress,
  targets: TraceTargets,
  headersOf: () => Readonly<Record<string, string>>,
): Egress {
  return {
    request: (request) =>
      egress.request(
        takesTrace(targets, request.url) ? { ...request, headers: { ...headersOf(), ...request.headers } } : request,
      ),
    fetch(url, init = {}, options, gate) {
      if (!takesTrace(targets, url)) return egress.fetch(url, init, options, gate)
      const headers = new Headers(headersOf())
      for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
      return egress.fetch(url, { ...init, headers }, options, gate)
    },
    close: () => egress.close(),
  }
}
