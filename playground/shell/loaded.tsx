import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import { later, notLoaded } from "../page/later.ts"
import { notify } from "../page/notices.ts"
import type * as LaterParts from "./later-parts.ts"

const parts = later(() => import("./later-parts.ts"))

interface LoadedProps {
  /** Takes back what asked for the part. */
  readonly onFail?: () => void
  readonly children: (parts: typeof LaterParts) => ComponentChildren
}

/** Shows a pane or dialog that is loaded later, once it is there. */
export function Loaded({ onFail, children }: LoadedProps) {
  useEffect(() => {
    parts.load().catch(() => {
      notify(notLoaded, "wrong")
      onFail?.()
    })
  }, [])
  const loaded = parts.part.value
  return loaded === null ? null : <>{children(loaded)}</>
}
