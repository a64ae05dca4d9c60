import { signal } from "@preact/signals"
import { currentInput } from "../form/input.ts"
import { notify } from "../page/notices.ts"
import { secretIn } from "../form/secrets.ts"
import { compileNow, filesAround } from "../language/source.ts"

export const shareOpen = signal(false)

/** Opens the dialog, unless a secret's value is in what would leave the page. */
export function openShare(): void {
  const { text } = compileNow()
  const secret = secretIn(text) ?? secretIn(JSON.stringify([currentInput(), filesAround.value]))
  if (secret === undefined) shareOpen.value = true
  else notify(`Not shared: the value of secrets.${secret} is in the source or the input. Remove it first.`, "wrong")
}
