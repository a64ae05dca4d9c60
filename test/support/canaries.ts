import { randomBytes } from "node:crypto"

/** A value that can be found again in any of the forms that a text may carry it in. */
export interface Canary {
  readonly name: string
  readonly value: string
}

export function canary(name: string, more = ""): Canary {
  return { name, value: `canary-${name}-${randomBytes(9).toString("hex")}${more}` }
}

/** The ways in which a counterpart might repeat a secret. */
export function formsOf(value: string): Readonly<Record<string, string>> {
  const base64 = Buffer.from(value).toString("base64")
  return {
    plain: value,
    "in JSON": JSON.stringify(value).slice(1, -1),
    Base64: base64,
    Base64url: Buffer.from(value).toString("base64url"),
    "inside of Base64": Buffer.from(`user:${value}!`).toString("base64"),
    "URL-encoded": encodeURIComponent(value),
    "URL-encoded throughout": [...Buffer.from(value)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  }
}

/** What gives a canary away: every form, of Base64 the part that its alignment does not change. */
function signsOf(value: string): [string, string][] {
  const signs = new Map<string, string>()
  const add = (form: string, sign: string): void => {
    signs.set(sign, form)
  }
  add("plain", value)
  add("in JSON", JSON.stringify(value).slice(1, -1))
  add("URL-encoded", encodeURIComponent(value))
  add("URL-encoded throughout", formsOf(value)["URL-encoded throughout"] ?? value)
  for (let offset = 0; offset < 3; offset++) {
    const coded = Buffer.from("\0".repeat(offset) + value).toString("base64")
    const middle = coded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + Buffer.byteLength(value)) * 8) / 6))
    add(`Base64 (${offset})`, middle)
    add(`Base64url (${offset})`, middle.replaceAll("+", "-").replaceAll("/", "_"))
  }
  return [...signs].map(([sign, form]) => [form, sign])
}

/** Searches everything that it is shown. */
export class CanaryWatch {
  readonly #signs: readonly { readonly what: string; readonly sign: string }[]
  readonly found: string[] = []
  searched = 0

  constructor(canaries: readonly Canary[]) {
    this.#signs = canaries.flatMap(({ name, value }) =>
      signsOf(value).map(([form, sign]) => ({ what: `${name}, ${form}`, sign })),
    )
  }

  search(where: string, content: string | Uint8Array): void {
    this.searched++
    const text = typeof content === "string" ? content : Buffer.from(content).toString("latin1")
    const lower = text.toLowerCase()
    for (const { what, sign } of this.#signs) {
      const at = text.includes(sign) ? text.indexOf(sign) : lower.indexOf(sign.toLowerCase())
      if (at >= 0) this.found.push(`${what} in ${where}: …${text.slice(Math.max(0, at - 80), at + 20)}…`)
    }
  }
}
