import { cancelRun } from "./follow-run.ts"
import { asksToCancel } from "./request-cancel.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { watchWhole } from "../shown-run/shown-run.ts"
import { Dialog } from "../ui/dialog.tsx"
import { counted } from "../ui/show.ts"

/** Asks before a run ends whose questions people may be about to answer. */
export function CancelDialog({ run }: { readonly run: RunView }) {
  watchWhole()
  const open = run.state.questions.filter(({ status }) => status === "open").length
  const close = (): void => {
    asksToCancel.value = null
  }
  return (
    <Dialog title="Cancel this run?" onClose={close}>
      <div class="dialog-body">
        <p>
          {counted(open, "question")} {open === 1 ? "is" : "are"} open. A cancelled run takes no answers and cannot go
          on.
        </p>
      </div>
      <footer>
        <button type="button" class="button outlined" onClick={close}>
          Keep waiting
        </button>
        <button
          type="button"
          class="button primary"
          onClick={() => {
            close()
            void cancelRun(run)
          }}
        >
          Cancel the run
        </button>
      </footer>
    </Dialog>
  )
}
