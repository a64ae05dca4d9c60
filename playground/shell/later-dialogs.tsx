import { comparison } from "../history/comparison.ts"
import { later } from "../state/later.ts"
import { shareOpen } from "../state/sharing.ts"
import { Loaded } from "./loaded.tsx"

const share = later(() => import("../share/share-dialog.tsx"))
const compare = later(() => import("../history/compare-dialog.tsx"))

/** Dialogs that come later than the page. */
export function LaterDialogs() {
  const compared = comparison.value
  return (
    <>
      {shareOpen.value ? (
        <Loaded of={share} onFail={() => (shareOpen.value = false)}>
          {({ ShareDialog }) => <ShareDialog />}
        </Loaded>
      ) : null}
      {compared === null ? null : (
        <Loaded of={compare} onFail={() => (comparison.value = null)}>
          {({ CompareDialog }) => <CompareDialog {...compared} />}
        </Loaded>
      )}
    </>
  )
}
