import { Damaged } from "../src/ports/store.ts"
import type { DataKey, MasterKey } from "../src/ports/vault.ts"

/** Seals nothing, and still opens only what is about the same: the time is for the store, not for ciphers. */
const plainKey: DataKey = {
  seal: (about, text) => Buffer.from(JSON.stringify([about, text])),
  open: (about, sealed) => {
    const [was, text] = JSON.parse(Buffer.from(sealed).toString()) as [string, string]
    if (was !== about) throw new Damaged(`${was} is not ${about}`)
    return text
  },
}

export function plainMasterKey(name: string): MasterKey {
  const mark = Buffer.from(name)
  const vault = {
    ...plainKey,
    digest: (purpose: string, parts: readonly string[]) => Buffer.from(JSON.stringify([purpose, ...parts])),
    newKey: (about: string) => ({ key: plainKey, wrapped: plainKey.seal(about, "key") }),
    openKey: (about: string, wrapped: Uint8Array) => {
      plainKey.open(about, wrapped)
      return plainKey
    },
  }
  return {
    mark,
    newRecord: () => ({ mark, ring: Buffer.from("1") }),
    unlock: (record) => (Buffer.compare(record.mark, mark) === 0 ? vault : null),
  }
}
