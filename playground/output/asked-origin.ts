import { signal } from "@preact/signals"

/** A part of the result whose origins are shown. */
export interface AskedOrigin {
  /** `output.reply` */
  readonly path: string
  /** Words of its text; absent for all of it. */
  readonly phrase?: string
}

/** What the page's address says of it; null while none is shown. */
export const askedOrigin = signal<AskedOrigin | null>(null)
