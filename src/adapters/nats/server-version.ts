/** 2.9 loses acknowledged messages when one of its nodes pauses, and lets two writers win one comparison. */
const oldest = [2, 10] as const

/** What to say of a broker of that version; null when it will do. One that does not say its version cleanly is taken. */
export function whyTooOld(version: string): string | null {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? []
  if (major === undefined || minor === undefined) return null
  const isOlder = Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1])
  if (!isOlder) return null
  return `nats-server ${version} is too old: it can lose events that it has acknowledged. Wireworks needs ${oldest.join(".")} or newer, on every node.`
}
