import { useEffect } from "preact/hooks"
import { later, notLoaded } from "../page/later.ts"
import { notify } from "../page/notices.ts"
import type { DropZoneProps } from "./file-zone.tsx"
import type * as FileViews from "./file-views.ts"
import type { StoredFileProps } from "./shown-file.tsx"

const views = later(() => import("./file-views.ts"))

/** Null until it is there. */
function useViews(): typeof FileViews | null {
  useEffect(() => void views.load().catch(() => notify(notLoaded, "wrong")), [])
  return views.part.value
}

/** A file of the service. */
export function StoredFile(props: StoredFileProps) {
  const loaded = useViews()
  return loaded === null ? <span class="file-name">{props.file.name}</span> : <loaded.ShownFile {...props} />
}

/** A zone that takes files. */
export function DropZone(props: DropZoneProps) {
  const loaded = useViews()
  return loaded === null ? <p class="note">Loading …</p> : <loaded.FileZone {...props} />
}
