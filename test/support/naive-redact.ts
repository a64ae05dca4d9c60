import { Buffer } from "node:buffer"
import { secretForms } from "../../src/run/secrets/secret-forms.ts"

interface Unit {
  readonly byte: number
  readonly from: number
  readonly to: number
}

interface Match {
  readonly from: number
  readonly to: number
  readonly secret: number
}

/** What the redactor does to a text, done without any thought for speed. The secrets are strings, some of them short. */
export function naiveRedact(text: string, secrets: Readonly<Record<string, string>>): string {
  const whole = Object.keys(secrets).find((name) => secrets[name] === text)
  if (whole !== undefined) return `[secret:${whole}]`
  const long = Object.entries(secrets)
    .filter(([, secret]) => secret.length >= 8)
    .sort(([, a], [, b]) => b.length - a.length)
  const forms = secretForms(long.map(([, secret]) => ({ text: secret })))
  const plain = unitsOf(text)
  const matches = [plain, decode(plain, 1), decode(plain, 8)].flatMap((units) => matchesIn(units, forms))
  matches.sort((a, b) => a.from - b.from || b.to - a.to || a.secret - b.secret)
  let shown = ""
  let end = 0
  for (const { from, to, secret } of matches) {
    if (from >= end) shown += `${text.slice(end, from)}[secret:${long[secret]?.[0]}]`
    end = Math.max(end, to)
  }
  return shown + text.slice(end)
}

function unitsOf(text: string): Unit[] {
  let from = 0
  return Array.from(text).flatMap((character) => {
    const range = { from, to: (from += character.length) }
    return [...Buffer.from(character, "utf8")].map((byte) => ({ byte, ...range }))
  })
}

function decode(units: readonly Unit[], levels: number): Unit[] {
  const decoded: Unit[] = []
  const hexAt = (at: number): number => {
    const two = String.fromCharCode(units[at]?.byte ?? 0, units[at + 1]?.byte ?? 0)
    return /^[0-9a-f]{2}$/i.test(two) ? Number.parseInt(two, 16) : -1
  }
  for (let at = 0; at < units.length; at++) {
    const unit = units[at]
    if (unit === undefined) continue
    let { byte, to } = unit
    for (let level = 0; byte === 0x25 && level < levels && hexAt(at + 1) >= 0; level++) {
      byte = hexAt(at + 1)
      at += 2
      to = units[at]?.to ?? to
    }
    decoded.push({ byte, from: unit.from, to })
  }
  return decoded
}

const base64 = /[A-Za-z0-9+/_-]/

function matchesIn(units: readonly Unit[], forms: ReturnType<typeof secretForms>): Match[] {
  const same = (byte: number): number => (byte === 0x20 ? 0x2b : byte)
  const isBase64 = (at: number): boolean => base64.test(String.fromCharCode(units[at]?.byte ?? 0))
  const matches: Match[] = []
  const written = forms.map((form) => ({ form, bytes: Buffer.from(form.text, "utf8") }))
  for (let end = 1; end <= units.length; end++) {
    const ending = written
      .filter(({ bytes }) => bytes.every((byte, at) => same(units[end - bytes.length + at]?.byte ?? -1) === same(byte)))
      .sort((a, b) => b.bytes.length - a.bytes.length)
    const [longest] = ending
    if (longest === undefined) continue
    let first = end - longest.bytes.length
    let last = end
    if (longest.form.sharedBefore && isBase64(first - 1)) first--
    if (longest.form.sharedAfter) {
      if (isBase64(last)) last++
      for (let equals = 0; equals < 2 && units[last]?.byte === 0x3d; equals++) last++
    }
    const [from, to] = [units[first]?.from ?? 0, units[last - 1]?.to ?? 0]
    matches.push({ from, to, secret: longest.form.secret })
  }
  return matches
}
