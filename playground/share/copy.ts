import { notify } from "../page/notices.ts"
import { withoutSecrets } from "../form/secrets.ts"

/** Puts a text on the clipboard, without the values of secrets, and says so. */
export async function copyText(given: string, what: string): Promise<void> {
  const text = withoutSecrets(given)
  try {
    await navigator.clipboard.writeText(text)
    notify(`${what} copied.`)
  } catch {
    // Browsers give the clipboard to secure pages only; the older way still works on a plain http address.
    if (copyBySelection(text)) notify(`${what} copied.`)
    else notify("The browser does not let this page copy. Select the text and copy it yourself.", "wrong")
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea")
  area.value = text
  area.className = "visually-hidden"
  const place = document.querySelector("dialog[open]") ?? document.body
  place.append(area)
  area.select()
  const done = document.execCommand("copy")
  area.remove()
  return done
}

export function downloadText(given: string, name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([withoutSecrets(given)], { type }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
