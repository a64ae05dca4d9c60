// What stores that write to disk need in order to write nothing that can be read there.

/** A key of one run's own: deleting its wrapped form makes all that it sealed unreadable. */
export interface DataKey {
  /** `about` says what and where the text is; opening it as anything else fails. */
  seal(about: string, text: string): Uint8Array
  /** Throws a `StoreFailure` for what was not sealed by this key as `about`, or has changed since. */
  open(about: string, sealed: Uint8Array): string
}

/** What a store remembers of its keys. It is of no use without the master key. */
export interface KeyRecord {
  /** Tells which master key wrapped the ring, and reveals nothing of that key. */
  readonly mark: Uint8Array
  /** The keys of the store, wrapped by the master key: that of digests, and the roots, which everything else is sealed under. */
  readonly ring: Uint8Array
}

/** The operator's key. It wraps the keys of stores, and seals nothing else. */
export interface MasterKey {
  readonly mark: Uint8Array
  /** For a new store: with new keys. */
  newRecord(): KeyRecord
  /** Null: another master key wrapped the ring. Throws `Damaged`. */
  unlock(record: KeyRecord): Vault | null
}

/** Everything that a root seals or wraps begins with the root's number, in this many bytes with the version before it. */
export const rootBytes = 3

/**
 * How one master key takes the place of another: the same keys and one more root, wrapped by the new one. `inUse` has the first `rootBytes` of everything that is
 * sealed in the store; roots that none of it needs are dropped. Null keeps all. Gives the record that it got when the new key has wrapped it already, and null
 * when neither key has.
 */
export type KeyChange = (record: KeyRecord, inUse: readonly Uint8Array[] | null) => KeyRecord | null

/** The keys of one store, open. */
export interface Vault {
  /** A keyed hash: finds what must not be readable. `["a", "bc"]` and `["ab", "c"]` differ, as do two purposes. */
  digest(purpose: string, parts: readonly string[]): Uint8Array
  /** A new random key, and its form for storage: wrapped by the newest root and bound to `about`. */
  newKey(about: string): { readonly key: DataKey; readonly wrapped: Uint8Array }
  openKey(about: string, wrapped: Uint8Array): DataKey
  /** For what has no key of its own. */
  seal(about: string, text: string): Uint8Array
  open(about: string, sealed: Uint8Array): string
}

export function isUnder({ mark }: KeyRecord, key: Pick<MasterKey, "mark">): boolean {
  return Buffer.compare(mark, key.mark) === 0
}
