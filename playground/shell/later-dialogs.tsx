import { comparison } from "../history/comparison.ts"
import { asksToCancel } from "../run/request-cancel.ts"
import { shareOpen } from "../share/sharing.ts"
import { Loaded } from "./loaded.tsx"

/** Dialogs that come later than the page. */
export function LaterDialogs() {
  const cancelled = asksToCancel.value
  const compared = comparison.value
  return (
    <>
      {shareOpen.value ? (
        <Loaded onFail={() => (shareOpen.value = false)}>{({ ShareDialog }) => <ShareDialog />}</Loaded>
      ) : null}
      {cancelled === null ? null : (
        <Loaded onFail={() => (asksToCancel.value = null)}>
          {({ CancelDialog }) => <CancelDialog run={cancelled} />}
        </Loaded>
      )}
      {compared === null ? null : (
        <Loaded onFail={() => (comparison.value = null)}>
          {({ CompareDialog }) => <CompareDialog {...compared} />}
        </Loaded>
      )}
    </>
  )
}
