/**
 * Whom an address belongs to, for counting: an IPv4 address as it is, of an IPv6 address the first 64 bits. One machine has all addresses
 * that begin with these. A client that is gone has none any more.
 */
export function networkOf(ip: string | undefined): string {
  if (ip === undefined) return ""
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped !== undefined) return mapped
  if (!ip.includes(":")) return ip
  const [left = "", right] = ip.split("%", 1)[0]?.toLowerCase().split("::") ?? []
  const groups = left === "" ? [] : left.split(":")
  const after = right === undefined || right === "" ? [] : right.split(":")
  const zeros = right === undefined ? 0 : Math.max(0, 8 - groups.length - after.length)
  const all = [...groups, ...Array<string>(zeros).fill("0"), ...after]
  return all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")
}
