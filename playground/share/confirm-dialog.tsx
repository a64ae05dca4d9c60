import { confirmation } from "./confirmation.ts"
import { Dialog } from "../ui/dialog.tsx"
import { VisibleText } from "../ui/visible-text.tsx"

/** Asks before a workflow from a link runs for the first time. */
export function ConfirmDialog() {
  const asked = confirmation.value
  if (asked === null) return null
  const close = (): void => {
    confirmation.value = null
  }
  const anySecret = asked.destinations.some(({ secrets }) => secrets.length > 0)
  return (
    <Dialog title="Run a workflow that came by a link?" onClose={close}>
      <div class="dialog-body">
        <p>
          Somebody else wrote it. {anySecret ? "Your secrets would go to these hosts:" : "It would call these hosts:"}
        </p>
        <table class="destinations">
          <thead>
            <tr>
              <th scope="col">Host</th>
              <th scope="col">Secrets that it receives</th>
              <th scope="col">Called by</th>
            </tr>
          </thead>
          <tbody>
            {asked.destinations.map(({ host, secrets, callers }) => (
              <tr key={host}>
                <td>
                  <strong>
                    <VisibleText text={host} />
                  </strong>
                </td>
                <td>
                  {secrets.length === 0 ? "none" : secrets.map((name) => <code key={name}>secrets.{name} </code>)}
                </td>
                <td class="note">{callers.join(", ")}</td>
              </tr>
            ))}
            {asked.destinations.length === 0 ? (
              <tr>
                <td colSpan={3}>It calls no host.</td>
              </tr>
            ) : null}
          </tbody>
        </table>
        <p class="hint-text">The input goes there too, as far as instructions mention it.</p>
      </div>
      <footer>
        <button type="button" class="button outlined" onClick={close}>
          Not now
        </button>
        <button
          type="button"
          class="button primary"
          onClick={() => {
            close()
            asked.go()
          }}
        >
          Run it
        </button>
      </footer>
    </Dialog>
  )
}
