import { Damaged } from "../../src/ports/store.ts"
import type { DataKey, KeyChange, KeyRecord, MasterKey, Vault } from "../../src/ports/vault.ts"

/** Seals nothing, and still opens only what is about the same: a history's time is for the store, not for ciphers. */
export const plainKey: DataKey = {
  seal: (about, text) => Buffer.from(JSON.stringify([about, text])),
  open: (about, sealed) => opened(about, sealed)[0],
}

function opened(about: string, sealed: Uint8Array): readonly [text: string, root: number | undefined] {
  const [was, text, root] = JSON.parse(Buffer.from(sealed).toString()) as [string, string, number?]
  if (was !== about) throw new Damaged(`${was} is not ${about}`)
  return [text, root]
}

/** A master key of this name. Its ring has the numbers of the roots: what is sealed under another one cannot be opened. */
export function plainMasterKey(name: string): MasterKey {
  const mark = Buffer.from(name)
  return {
    mark,
    newRecord: () => ({ mark, ring: Buffer.from("1") }),
    unlock: (record) => (Buffer.compare(record.mark, mark) === 0 ? plainVault(rootsOf(record)) : null),
  }
}

export function plainChange(before: string, next: string): KeyChange {
  return (record, inUse) => {
    const name = Buffer.from(record.mark).toString()
    if (name === next) return record
    if (name !== before) return null
    const roots = rootsOf(record)
    const added = (roots.at(-1) ?? 0) + 1
    return { mark: Buffer.from(next), ring: Buffer.from([...(inUse === null ? roots : []), added].join()) }
  }
}

function rootsOf({ ring }: KeyRecord): number[] {
  return Buffer.from(ring).toString().split(",").map(Number)
}

function plainVault(roots: readonly number[]): Vault {
  const seal = (about: string, text: string): Uint8Array => Buffer.from(JSON.stringify([about, text, roots.at(-1)]))
  const open = (about: string, sealed: Uint8Array): string => {
    const [text, root] = opened(about, sealed)
    if (root === undefined || !roots.includes(root)) throw new Damaged(`${about} is under the root ${root}`)
    return text
  }
  return {
    digest: (purpose, parts) => Buffer.from(JSON.stringify([purpose, ...parts])),
    newKey: (about) => ({ key: plainKey, wrapped: seal(about, "key") }),
    openKey: (about, wrapped) => {
      open(about, wrapped)
      return plainKey
    },
    seal,
    open,
  }
}
