// What stores that write to disk need in order to write nothing that can be read there.

/** A key of one run's own: deleting its wrapped form makes all that it sealed unreadable. */
export interface DataKey {
  /** `about` says what and where the text is; opening it as anything else fails. */
  seal(about: string, text: string): Uint8Array
  /** Throws a `StoreFailure` for what was not sealed by this key as `about`, or has changed since. */
  open(about: string, sealed: Uint8Array): string
}

export interface Vault {
  /** The same for the same master key, and tells nothing of it: a store refuses to open under another one. */
  readonly mark: Uint8Array
  /** A keyed hash: finds what must not be readable. `["a", "bc"]` and `["ab", "c"]` differ, as do two purposes. */
  digest(purpose: string, parts: readonly string[]): Uint8Array
  /** A new random key, and its form for storage: wrapped by the master key and bound to `about`. */
  newKey(about: string): { readonly key: DataKey; readonly wrapped: Uint8Array }
  openKey(about: string, wrapped: Uint8Array): DataKey
  /** For what has no key of its own. */
  seal(about: string, text: string): Uint8Array
  open(about: string, sealed: Uint8Array): string
}
