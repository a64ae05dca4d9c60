// What stores that write to disk need in order to write nothing that can be read there.

/** A key of one run's own: deleting its wrapped form makes all that it sealed unreadable. */
export interface DataKey {
  /** `about` says what and where the text is; opening it as anything else fails. */
  seal(about: string, text: string): Uint8Array
  /** Throws a `StoreFailure` for what was not sealed by this key as `about`, or has changed since. */
  open(about: string, sealed: Uint8Array): string
}

/** What a store remembers of its master keys. All of it can be read without any key. */
export interface KeyRecord {
  /** Mark of the key that everything new is written with. */
  readonly mark: Uint8Array
  /** Mark of the key before it, while something may still need it. */
  readonly old: Uint8Array | null
  /** The key of digests, wrapped by the first key; null: it is derived from that key, which was never changed. */
  readonly digest: Uint8Array | null
}

/** Which of the keys that a store needs is not there. `both`: the store knows neither of ours. */
export type MissingKey = "new" | "old" | "both"

export function missingKey({ mark, old }: KeyRecord, marks: readonly Uint8Array[]): MissingKey | null {
  const has = (wanted: Uint8Array): boolean => marks.some((one) => Buffer.compare(one, wanted) === 0)
  if (has(mark)) return old === null || has(old) ? null : "old"
  return old !== null && has(old) ? "new" : "both"
}

/** A change of the master key that is under way in a store. */
export interface KeyChange {
  /**
   * Rewrites some of what the old key wrapped or sealed. `left`: how many things have not been looked at; 0 when the
   * old key is no longer needed, which the store then remembers.
   */
  step(): Promise<{ readonly rewritten: number; readonly left: number }>
}

export interface Vault {
  /** Marks of the keys that this process has, the one that writes first. A mark reveals nothing of its key. */
  readonly marks: readonly Uint8Array[]
  /**
   * Takes up what the store remembers; nothing of what it needs may be missing. `begin`: the first of our keys writes from now
   * on, and the result is what the store must remember before anything is written. `follow`: the store's key writes.
   */
  agree(stored: KeyRecord | null, how: "begin" | "follow"): KeyRecord
  /** From now on everything that writes throws a `StoreFailure` with this sentence; null ends that. */
  refuseWrites(sentence: string | null): void
  /** Why nothing can be written; null when it can. */
  readonly refusal: string | null
  /** A keyed hash: finds what must not be readable. `["a", "bc"]` and `["ab", "c"]` differ, as do two purposes. */
  digest(purpose: string, parts: readonly string[]): Uint8Array
  /** A new random key, and its form for storage: wrapped by the master key and bound to `about`. */
  newKey(about: string): { readonly key: DataKey; readonly wrapped: Uint8Array }
  openKey(about: string, wrapped: Uint8Array): DataKey
  /** The same data key, wrapped by the key that writes now; null when it is already, or is damaged. */
  rewrap(about: string, wrapped: Uint8Array): Uint8Array | null
  /** For what has no key of its own. */
  seal(about: string, text: string): Uint8Array
  open(about: string, sealed: Uint8Array): string
  /** The same text, sealed by the key that writes now; null when it is already, or is damaged. */
  reseal(about: string, sealed: Uint8Array): Uint8Array | null
}
