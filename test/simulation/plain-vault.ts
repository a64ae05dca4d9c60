import { Damaged, StoreFailure } from "../../src/ports/store.ts"
import type { DataKey, Vault } from "../../src/ports/vault.ts"

/** Seals nothing, and still opens only what is about the same: a history's time is for the store, not for ciphers. */
export const plainKey: DataKey = {
  seal: (about, text) => Buffer.from(JSON.stringify([about, text])),
  open: (about, sealed) => opened(about, sealed)[0],
}

function opened(about: string, sealed: Uint8Array): readonly [text: string, key: string | undefined] {
  const [was, text, key] = JSON.parse(Buffer.from(sealed).toString()) as [string, string, string?]
  if (was !== about) throw new Damaged(`${was} is not ${about}`)
  return [text, key]
}

/** A vault with master keys of these names, the one that writes first. What another key has written it cannot open. */
export function plainVault(keys: readonly string[]): Vault {
  const [first = ""] = keys
  let writing = first
  let digestKey = first
  let refusal: string | null = null
  const checkWrites = (): void => {
    if (refusal !== null) throw new StoreFailure(refusal)
  }
  const sealWith = (key: string, about: string, text: string): Uint8Array =>
    Buffer.from(JSON.stringify([about, text, key]))
  const openWith = (about: string, sealed: Uint8Array): readonly [text: string, key: string] => {
    const [text, key] = opened(about, sealed)
    if (key === undefined || !keys.includes(key)) throw new Damaged(`${about} is under the key ${key}`)
    return [text, key]
  }
  const rewrite = (about: string, sealed: Uint8Array): Uint8Array | null => {
    checkWrites()
    const [text, key] = openWith(about, sealed)
    return key === writing ? null : sealWith(writing, about, text)
  }
  const seal = (about: string, text: string): Uint8Array => {
    checkWrites()
    return sealWith(writing, about, text)
  }
  return {
    marks: keys.map((key) => Buffer.from(key)),
    agree: (stored, how) => {
      if (stored === null) return { mark: Buffer.from(writing), old: null, digest: null }
      const theirs = Buffer.from(stored.mark).toString()
      digestKey = stored.digest === null ? theirs : openWith("digest", stored.digest)[0]
      writing = how === "begin" ? first : theirs
      if (writing === theirs) return stored
      return { mark: Buffer.from(writing), old: stored.mark, digest: sealWith(writing, "digest", digestKey) }
    },
    refuseWrites: (sentence) => (refusal = sentence),
    get refusal() {
      return refusal
    },
    digest: (purpose, parts) => Buffer.from(JSON.stringify([digestKey, purpose, ...parts])),
    newKey: (about) => ({ key: plainKey, wrapped: seal(about, "key") }),
    openKey: (about, wrapped) => {
      openWith(about, wrapped)
      return plainKey
    },
    rewrap: rewrite,
    seal,
    open: (about, sealed) => openWith(about, sealed)[0],
    reseal: rewrite,
  }
}
