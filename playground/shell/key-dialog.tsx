import { useState } from "preact/hooks"
import { apiKey, keyWanted } from "../service/service.ts"
import { Dialog } from "../ui/dialog.tsx"

/** The service asks for an API key: what was refused is done again once there is one. */
export function KeyDialog() {
  const wanted = keyWanted.value
  return wanted === null ? null : <KeyForm wrong={wanted.wrong} retry={wanted.retry} />
}

function KeyForm({ wrong, retry }: { readonly wrong: boolean; readonly retry: () => void }) {
  const [key, setKey] = useState("")
  const close = (): void => {
    keyWanted.value = null
  }
  const send = (event: Event): void => {
    event.preventDefault()
    if (key.trim() === "") return
    apiKey.value = key.trim()
    close()
    retry()
  }
  return (
    <Dialog title="This service asks for an API key" onClose={close}>
      <form onSubmit={send}>
        <div class="dialog-body">
          <label for="api-key">API key</label>
          <input
            id="api-key"
            class="field mono"
            type="password"
            autocomplete="off"
            aria-describedby="api-key-note"
            aria-invalid={wrong}
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
          <p id="api-key-note" class={wrong ? "wrong-text" : "hint-text"}>
            {wrong
              ? "The key was not accepted. Check it with the operator of this service."
              : "The operator of this service hands out keys. It stays in this page's memory and is sent to this service only."}
          </p>
        </div>
        <footer>
          <button type="button" class="button outlined" onClick={close}>
            Not now
          </button>
          <button type="submit" class="button primary" disabled={key.trim() === ""}>
            Use this key
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
