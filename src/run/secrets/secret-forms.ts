import { Buffer } from "node:buffer"

/** One way in which a secret can be written. */
export interface SecretForm {
  readonly text: string
  /** Position of its secret in the list. */
  readonly secret: number
  /**
   * A Base64 form: its first or last character also holds bits of the neighbouring text, so that character is not part of
   * `text`, but is replaced with it.
   */
  readonly sharedBefore: boolean
  readonly sharedAfter: boolean
}

/** Texts shorter than this are found only where a whole string equals them: they would turn up in innocent text. */
export const shortestSearched = 8

/**
 * Every text to search for: each secret as it is, inside JSON text, with its percent-escapes decoded, and as Base64.
 * URL-encoded secrets need no form of their own: the search decodes the text instead.
 */
export function secretForms(secrets: readonly { readonly text: string }[]): SecretForm[] {
  const forms: SecretForm[] = []
  for (const [secret, { text }] of secrets.entries()) {
    const alone = { secret, sharedBefore: false, sharedAfter: false }
    forms.push({ text, ...alone })
    for (const inJson of jsonForms(text)) forms.push({ text: inJson, ...alone })
    const plain = decoded(text)
    if (plain !== text && plain.length >= shortestSearched) forms.push({ text: plain, ...alone })
    addBase64Forms(text, secret, forms)
  }
  return forms
}

/** Most keys: no writer of JSON escapes any of it. */
export const needsNoEscape = /^[\w.~:+ -]*$/
const noForms: ReadonlySet<string> = new Set()

/** How writers of JSON write a text that they have to escape: as little as they can, `/` too, or all that is not ASCII or means something in HTML. */
function jsonForms(text: string): ReadonlySet<string> {
  if (needsNoEscape.test(text)) return noForms
  const plain = JSON.stringify(text).slice(1, -1)
  const escapes = (upper: boolean) => (letter: string) => {
    const digits = letter.charCodeAt(0).toString(16).padStart(4, "0")
    return `\\u${upper ? digits.toUpperCase() : digits}`
  }
  const escaped = [false, true].flatMap((upper) => [
    plain.replaceAll(/[^\0-\x7f]/g, escapes(upper)),
    plain.replaceAll(/[^\0-\x7f]|[<>&'=]/g, escapes(upper)),
  ])
  const forms = new Set([plain, plain.replaceAll("/", "\\/"), ...escaped])
  forms.delete(text)
  return forms
}

/**
 * In Base64 text a secret's first byte is the first, second or third of a group of three, so there are three forms, and as
 * many again in the URL-safe alphabet.
 */
function addBase64Forms(text: string, secret: number, forms: SecretForm[]): void {
  const padded = Buffer.from(`\0\0${text}`, "utf8")
  for (let offset = 0; offset < 3; offset++) {
    const bits = (offset + padded.length - 2) * 8
    const middle = padded.toString("base64", 2 - offset).slice(Math.ceil((offset * 8) / 6), Math.floor(bits / 6))
    const [sharedBefore, sharedAfter] = [offset !== 0, bits % 6 !== 0]
    forms.push({ text: middle, secret, sharedBefore, sharedAfter })
    if (middle.includes("+") || middle.includes("/")) {
      const urlSafe = middle.replaceAll("+", "-").replaceAll("/", "_")
      forms.push({ text: urlSafe, secret, sharedBefore, sharedAfter })
    }
  }
}

/** A secret that itself holds percent-escapes: a text that is decoded to the end no longer holds them. */
function decoded(text: string): string {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text.replace(/%(?:25)+(?=[0-9a-f]{2})/gi, "%"))
  } catch {
    return text
  }
}
