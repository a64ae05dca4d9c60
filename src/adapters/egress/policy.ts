import { isIP } from "node:net"
import { RunFailure } from "../../ports/run-failure.ts"
import { classifyAddress } from "./classify-address.ts"

/** Which destinations outgoing connections may have. */
export type EgressPolicy =
  /** All but link-local addresses and cloud metadata. */
  | { readonly kind: "private" }
  | { readonly kind: "public" }
  /** Only these. A listed name may resolve to what `private` allows; a listed address is allowed whatever it is. */
  | { readonly kind: "hosts"; readonly hosts: readonly HostRule[] }

export interface HostRule {
  /** In lower case and canonical, an IPv6 address without brackets. */
  readonly host: string
  /** `*.example.com`: every name under it, itself not. */
  readonly below: boolean
  /** Null: any. */
  readonly port: number | null
}

/** Where a connection is about to go: what of a URL the policy looks at. */
export interface Destination {
  readonly host: string
  readonly port: number
}

export type PolicyOutcome =
  | { readonly ok: true; readonly policy: EgressPolicy }
  | { readonly ok: false; readonly message: string }

/** Reads the setting `WIRE_EGRESS`: `private`, `public`, or hosts with commas between them. */
export function parseEgressPolicy(text: string): PolicyOutcome {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
  if (entries.length === 0)
    return refuse("WIRE_EGRESS is empty: it is private, public, or hosts with commas between them.")
  const [first] = entries
  if (entries.length === 1 && (first === "private" || first === "public")) return { ok: true, policy: { kind: first } }
  const hosts: HostRule[] = []
  for (const entry of entries) {
    const word = entry.toLowerCase()
    if (word !== entry && (word === "private" || word === "public")) {
      return refuse(`WIRE_EGRESS holds "${entry}": write ${word}.`)
    }
    if (notHosts.has(word)) {
      return refuse(`WIRE_EGRESS holds "${entry}": it is private, public, or hosts with commas between them.`)
    }
    if (entry === "private" || entry === "public") {
      return refuse(`WIRE_EGRESS is either ${entry} alone or a list of hosts, not both.`)
    }
    const rule = parseHostRule(entry)
    if (rule === null) {
      return refuse(
        `WIRE_EGRESS holds "${entry}", which is not a host: write example.com, *.example.com, 10.0.0.5 or [::1]:8080.`,
      )
    }
    hosts.push(rule)
  }
  return { ok: true, policy: { kind: "hosts", hosts } }
}

/** Words that people write for a policy, and that would otherwise be read as the name of a host. */
const notHosts = new Set([
  "all",
  "any",
  "none",
  "on",
  "off",
  "true",
  "false",
  "yes",
  "no",
  "open",
  "closed",
  "allow",
  "deny",
  "internet",
])

function refuse(message: string): PolicyOutcome {
  return { ok: false, message }
}

export function parseHostRule(entry: string): HostRule | null {
  const below = entry.startsWith("*.")
  const rest = below ? entry.slice(2) : entry
  const bare = isIP(rest) === 6
  const match = bare ? null : /^(\[[^\]]*\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(rest)
  if (!bare && match === null) return null
  if (/[\s/?#@*\\%]/.test(rest)) return null
  const url = URL.parse(`http://${bare ? `[${rest}]` : match?.[1]}/`)
  if (url === null) return null
  const host = bareHost(url)
  if (isIP(host) === 0 ? !/^[a-z0-9._-]+$/.test(host) : below) return null
  const port = match?.[2] === undefined ? null : Number(match[2])
  if (port !== null && (port < 1 || port > 65_535)) return null
  return { host, below, port }
}

/** The host of a parsed URL (lower case, punycode, addresses in their canonical spelling) without brackets or final dot. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")
}

/** The port that a URL names, or that its scheme means. */
export function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port)
}

/** What can be judged before a name is resolved: the address of a host that is one, and the list of hosts. */
export function judgeDestination(policy: EgressPolicy, destination: Destination): RunFailure | null {
  if (policy.kind === "hosts") {
    const listed = policy.hosts.filter((rule) => matchesHost(rule, destination))
    if (listed.length === 0) {
      return blocked(
        `${destination.host} is not among the hosts that this service may call.`,
        `Adding ${destination.host} to WIRE_EGRESS would allow it.`,
      )
    }
    if (isIP(destination.host) !== 0) return null
  }
  return isIP(destination.host) === 0 ? null : judgeAddress(policy, destination, destination.host)
}

/** Judges one of the addresses that the destination's name resolved to (or that it is). */
export function judgeAddress(policy: EgressPolicy, destination: Destination, address: string): RunFailure | null {
  const found = classifyAddress(address)
  if (found === null) return blocked(`${destination.host} did not resolve to an IP address.`, null)
  if (found.kind === "public" || (found.kind === "private" && policy.kind !== "public")) return null
  // What a name resolves to inside the service's network is not shown to the author of the workflow.
  const what = isIP(destination.host) === 0 ? `resolves to ${found.name}` : `is ${found.name}`
  const setting =
    found.kind === "private"
      ? `WIRE_EGRESS=private would allow it, and so would WIRE_EGRESS=${destination.host}.`
      : "Only a WIRE_EGRESS that lists the address itself would allow it."
  return blocked(`${destination.host} ${what}, which the egress policy forbids.`, setting)
}

/** A refusal; the caller knows the place in the workflow, so the path is left empty. */
export function blocked(message: string, hint: string | null): RunFailure {
  const whole = hint === null ? message : `${message} ${hint}`
  return new RunFailure({
    kind: "blocked_destination",
    message: whole,
    issues: [{ path: "", message: whole, ...(hint === null ? {} : { hint }) }],
  })
}

export function matchesHost(rule: HostRule, destination: Destination): boolean {
  if (rule.port !== null && rule.port !== destination.port) return false
  return rule.below ? destination.host.endsWith(`.${rule.host}`) : destination.host === rule.host
}
