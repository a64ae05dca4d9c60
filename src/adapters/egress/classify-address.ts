import { isIPv4, isIPv6 } from "node:net"

/**
 * What an address is, for the egress policy. `private` is everything that is not reachable from all over the internet;
 * the two worse ones are refused even where private addresses are welcome.
 */
export interface AddressClass {
  readonly kind: "public" | "private" | "link_local" | "metadata"
  /** With its article, for messages: "a loopback address". */
  readonly name: string
}

type Kind = AddressClass["kind"]

interface Range {
  readonly bytes: Uint8Array
  readonly bits: number
  readonly class: AddressClass
}

const publicAddress: AddressClass = { kind: "public", name: "a public address" }
const severity: readonly Kind[] = ["public", "private", "link_local", "metadata"]

// In each table the first match counts: the single metadata addresses stand before the ranges that hold them.
const ranges4: readonly Range[] = [
  range("169.254.169.254/32", "metadata", "a cloud metadata address"),
  range("169.254.170.2/32", "metadata", "a cloud metadata address"),
  range("100.100.100.200/32", "metadata", "a cloud metadata address"),
  range("192.0.0.192/32", "metadata", "a cloud metadata address"),
  range("168.63.129.16/32", "metadata", "a cloud metadata address"),
  range("169.254.0.0/16", "link_local", "a link-local address"),
  range("0.0.0.0/8", "private", "an address of this host"),
  range("127.0.0.0/8", "private", "a loopback address"),
  range("10.0.0.0/8", "private", "a private address"),
  range("172.16.0.0/12", "private", "a private address"),
  range("192.168.0.0/16", "private", "a private address"),
  range("100.64.0.0/10", "private", "a carrier-grade NAT address"),
  range("192.0.0.0/24", "private", "a reserved address"),
  range("192.0.2.0/24", "private", "a documentation address"),
  range("198.51.100.0/24", "private", "a documentation address"),
  range("203.0.113.0/24", "private", "a documentation address"),
  range("192.88.99.0/24", "private", "a reserved address"),
  range("198.18.0.0/15", "private", "a benchmarking address"),
  range("224.0.0.0/4", "private", "a multicast address"),
  range("240.0.0.0/4", "private", "a reserved address"),
]

const ranges6: readonly Range[] = [
  range("fd00:ec2::254/128", "metadata", "a cloud metadata address"),
  range("fd20:ce::254/128", "metadata", "a cloud metadata address"),
  range("fe80::/10", "link_local", "a link-local address"),
  range("::/128", "private", "an address of this host"),
  range("::1/128", "private", "a loopback address"),
  range("fc00::/7", "private", "a private address"),
  range("fec0::/10", "private", "a private address"),
  range("ff00::/8", "private", "a multicast address"),
  range("2001:db8::/32", "private", "a documentation address"),
  range("3fff::/20", "private", "a documentation address"),
  range("2001::/32", "public", "a Teredo address"),
  range("2001::/23", "private", "a reserved address"),
  range("64:ff9b::/96", "public", "a NAT64 address"),
  range("2000::/3", "public", "a public address"),
  range("::/0", "private", "a reserved address"),
]

/** IPv6 addresses with an IPv4 address inside: where traffic to them may end up, and whether they are public at all. */
const embeddings: readonly {
  readonly within: Range
  readonly extract: (bytes: Uint8Array) => readonly Uint8Array[]
}[] = [
  { within: range("::ffff:0:0/96", "private", "an IPv4-mapped address"), extract: lastFour },
  { within: range("::ffff:0:0:0/96", "private", "an IPv4-translated address"), extract: lastFour },
  { within: range("::/96", "private", "an IPv4-compatible address"), extract: lastFour },
  { within: range("64:ff9b::/96", "public", "a NAT64 address"), extract: lastFour },
  // Local-use NAT64: networks put the IPv4 address at the end, or as RFC 6052 has it for a /48.
  {
    within: range("64:ff9b:1::/48", "private", "a NAT64 address"),
    extract: (bytes) => [...lastFour(bytes), pick(bytes, 6, 7, 9, 10)],
  },
  { within: range("2002::/16", "public", "a 6to4 address"), extract: (bytes) => [bytes.subarray(2, 6)] },
  // Teredo: the server's address as it is, the client's with every bit flipped.
  {
    within: range("2001::/32", "public", "a Teredo address"),
    extract: (bytes) => [bytes.subarray(4, 8), bytes.subarray(12).map((byte) => byte ^ 0xff)],
  },
]

/** `address` is an IPv4 or IPv6 address in text, a zone allowed; null for anything else. */
export function classifyAddress(address: string): AddressClass | null {
  const bytes = parseAddress(address)
  if (bytes === null) return null
  return bytes.length === 4 ? classify4(bytes) : classify6(bytes)
}

function classify4(bytes: Uint8Array): AddressClass {
  return ranges4.find((candidate) => contains(candidate, bytes))?.class ?? publicAddress
}

function classify6(bytes: Uint8Array): AddressClass {
  let result = ranges6.find((candidate) => contains(candidate, bytes))?.class ?? publicAddress
  for (const { within, extract } of embeddings) {
    if (!contains(within, bytes)) continue
    result = worse(result, within.class)
    for (const inner of extract(bytes)) {
      const found = classify4(inner)
      result = worse(result, { kind: found.kind, name: `${within.class.name} that holds ${found.name}` })
    }
  }
  // ISATAP, under any prefix: interface identifier 0000:5efe or 0200:5efe, then the IPv4 address.
  if ((bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe) {
    const found = classify4(bytes.subarray(12))
    result = worse(result, { kind: found.kind, name: `an ISATAP address that holds ${found.name}` })
  }
  return result
}

function worse(a: AddressClass, b: AddressClass): AddressClass {
  return severity.indexOf(b.kind) > severity.indexOf(a.kind) ? b : a
}

function contains(range: Range, bytes: Uint8Array): boolean {
  for (let bit = 0; bit < range.bits; bit += 8) {
    const mask = 0xff << Math.max(0, 8 - (range.bits - bit))
    if ((((range.bytes[bit >> 3] ?? 0) ^ (bytes[bit >> 3] ?? 0)) & mask & 0xff) !== 0) return false
  }
  return true
}

function lastFour(bytes: Uint8Array): Uint8Array[] {
  return [bytes.subarray(12)]
}

function pick(bytes: Uint8Array, ...places: readonly number[]): Uint8Array {
  return Uint8Array.from(places, (place) => bytes[place] ?? 0)
}

/** Trusts its text: the first call of `isIPv6` compiles a large regular expression, and a start has no other use for it. */
function range(cidr: string, kind: Kind, name: string): Range {
  const [address = "", bits = ""] = cidr.split("/")
  const bytes = address.includes(":") ? sixteenBytes(address) : fourBytes(address)
  return { bytes, bits: Number(bits), class: { kind, name } }
}

/** Every call of a model goes through here, so it makes no list of texts. */
function fourBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(4)
  let place = 0
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 0x30
    if (digit < 0) place++
    else bytes[place] = (bytes[place] ?? 0) * 10 + digit
  }
  return bytes
}

/** Four or sixteen bytes. */
function parseAddress(text: string): Uint8Array | null {
  if (isIPv4(text)) return fourBytes(text)
  return isIPv6(text) ? sixteenBytes(text) : null
}

function sixteenBytes(text: string): Uint8Array {
  let address = text.split("%")[0] ?? ""
  const dotted = address.lastIndexOf(".") < 0 ? null : address.slice(address.lastIndexOf(":") + 1)
  if (dotted !== null) {
    const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number)
    const groups = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
    address = address.slice(0, address.length - dotted.length) + groups
  }
  const [head = "", tail] = address.split("::")
  const before = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0")
  return Uint8Array.from(
    [...before, ...zeros, ...after].flatMap((group) => {
      const value = Number.parseInt(group, 16)
      return [value >> 8, value & 0xff]
    }),
  )
}
