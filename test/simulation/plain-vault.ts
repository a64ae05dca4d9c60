import { Damaged } from "../../src/ports/store.ts"
import type { DataKey, Vault } from "../../src/ports/vault.ts"

/** Seals nothing, and still opens only what is about the same: a history's time is for the store, not for ciphers. */
export function plainVault(): Vault {
  const mark = Buffer.from("mark")
  const seal = (about: string, text: string): Uint8Array => Buffer.from(JSON.stringify([about, text]))
  const open = (about: string, sealed: Uint8Array): string => {
    const [was, text] = JSON.parse(Buffer.from(sealed).toString()) as [string, string]
    if (was !== about) throw new Damaged(`${was} is not ${about}`)
    return text
  }
  const key: DataKey = { seal, open }
  return {
    marks: [mark],
    agree: (stored) => stored ?? { mark, old: null, digest: null },
    refuseWrites: () => undefined,
    refusal: null,
    digest: (purpose, parts) => Buffer.from(JSON.stringify([purpose, ...parts])),
    newKey: (about) => ({ key, wrapped: seal(about, "key") }),
    openKey: (about, wrapped) => {
      open(about, wrapped)
      return key
    },
    rewrap: () => null,
    seal,
    open,
    reseal: () => null,
  }
}
