import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import type { Later } from "../state/later.ts"
import { notLoaded } from "../state/later.ts"
import { notify } from "../state/notices.ts"

interface LoadedProps<T> {
  readonly of: Later<T>
  /** Takes back what asked for the part. */
  readonly onFail: () => void
  readonly children: (part: T) => ComponentChildren
}

/** Shows what a part of the page has, once it is there. */
export function Loaded<T>({ of, onFail, children }: LoadedProps<T>) {
  useEffect(() => {
    of.load().catch(() => {
      notify(notLoaded, "wrong")
      onFail()
    })
  }, [of])
  const part = of.part.value
  return part === null ? null : <>{children(part)}</>
}
