import { openFile } from "./files.ts"
import type { NewContent } from "./files.ts"
import { paneTab } from "./layout.ts"
import { notify } from "./notices.ts"
import { asksForKey, client, toWireError } from "./service.ts"

/** Puts a workflow into the editor and its form. */
export function openWorkflow(workflow: NewContent): void {
  openFile(workflow)
  paneTab.value = "editor"
}

/** Opens a workflow of the server's folder, to look at and to run. */
export async function openServed(name: string): Promise<void> {
  try {
    const { source, version, secrets } = await client().workflowDetail(name)
    if (source === null || version === null) {
      notify(`The workflow ${name} cannot be opened: the server does not serve it.`, "wrong")
      return
    }
    openWorkflow({ name, source, input: {}, served: { name, version, secrets } })
  } catch (error) {
    if (!asksForKey(error, () => void openServed(name))) notify(`Not opened: ${toWireError(error).message}.`, "wrong")
  }
}

/** A workflow is text, and the page compiles it as one types: a larger file is none. */
const largestFile = 1_000_000

/** Opens files that the author chose or dropped. */
export async function openLocalFiles(chosen: readonly File[]): Promise<void> {
  for (const file of chosen) {
    if (!file.name.endsWith(".wire")) notify(`Not opened: ${file.name} is not a .wire file.`, "wrong")
    else if (file.size > largestFile) notify(`Not opened: ${file.name} is larger than 1 MB.`, "wrong")
    else
      openWorkflow({
        name: file.name.slice(0, -".wire".length),
        source: (await file.text()).replaceAll("\r\n", "\n"),
        input: {},
      })
  }
}
