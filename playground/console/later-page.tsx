import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import { later, notLoaded } from "../page/later.ts"
import { notify } from "../page/notices.ts"
import type * as LaterPages from "./later-pages.ts"

const pages = later(() => import("./later-pages.ts"))

/** Shows what is loaded when it is first needed: the view of a run with its graph, and the forms of questions. */
export function LaterPage({ children }: { readonly children: (pages: typeof LaterPages) => ComponentChildren }) {
  useEffect(() => {
    pages.load().catch(() => notify(notLoaded, "wrong"))
  }, [])
  const loaded = pages.part.value
  return loaded === null ? <p class="empty">Loading …</p> : <>{children(loaded)}</>
}
