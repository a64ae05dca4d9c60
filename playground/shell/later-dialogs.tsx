import { comparison } from "../history/comparison.ts"
import { shareOpen } from "../share/sharing.ts"
import { Loaded } from "./loaded.tsx"

/** Dialogs that come later than the page. */
export function LaterDialogs() {
  const compared = comparison.value
  return (
    <>
      {shareOpen.value ? (
        <Loaded onFail={() => (shareOpen.value = false)}>{({ ShareDialog }) => <ShareDialog />}</Loaded>
      ) : null}
      {compared === null ? null : (
        <Loaded onFail={() => (comparison.value = null)}>
          {({ CompareDialog }) => <CompareDialog {...compared} />}
        </Loaded>
      )}
    </>
  )
}
