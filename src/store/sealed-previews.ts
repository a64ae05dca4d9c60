import type { EndPreview, RequestPreview } from "../ports/run-list.ts"
import { StoreFailure } from "../ports/store.ts"
import type { DataKey } from "../ports/vault.ts"

// What sealed things are about: changing these makes what is stored unreadable.
const aboutPreview = "preview"
const aboutEnd = "preview of the end"

export function sealPreview(key: DataKey, preview: RequestPreview): Uint8Array {
  return key.seal(aboutPreview, JSON.stringify(preview))
}

export function sealEnded(key: DataKey, preview: EndPreview): Uint8Array {
  return key.seal(aboutEnd, JSON.stringify(preview))
}

/** Null where it is damaged: a list goes on without it. */
export function openPreview(key: DataKey, sealed: unknown): RequestPreview | null {
  return open(key, aboutPreview, sealed) as RequestPreview | null
}

export function openEnded(key: DataKey, sealed: unknown): EndPreview | null {
  return open(key, aboutEnd, sealed) as EndPreview | null
}

function open(key: DataKey, about: string, sealed: unknown): unknown {
  if (!(sealed instanceof Uint8Array)) return null
  try {
    return JSON.parse(key.open(about, sealed))
  } catch (error) {
    if (error instanceof StoreFailure) return null
    throw error
  }
}
