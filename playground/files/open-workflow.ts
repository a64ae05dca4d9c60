import { filesOf, type SourceFiles } from "../../src/source/source-files.ts"
import { openFile } from "./files.ts"
import type { NewContent } from "./files.ts"
import { paneTab } from "../page/layout.ts"
import { largestSource } from "../share/link.ts"
import { notify } from "../page/notices.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"

/** Puts a workflow into the editor and its form. */
export function openWorkflow(workflow: NewContent): void {
  openFile(workflow)
  paneTab.value = "editor"
}

/** Opens a workflow of the server's folder, to look at and to run. */
export async function openServed(name: string): Promise<void> {
  try {
    const { source, version, secrets, file, modules } = await client().workflowDetail(name)
    if (source === null || version === null) {
      notify(`The workflow ${name} cannot be opened: the server does not serve it.`, "wrong")
      return
    }
    openWorkflow({ name, source, input: {}, around: aroundOf(file, modules), served: { name, version, secrets } })
  } catch (error) {
    if (!asksForKey(error, () => void openServed(name))) notify(`Not opened: ${toWireError(error).message}.`, "wrong")
  }
}

/** Opens files that the author chose or dropped. */
export async function openLocalFiles(chosen: readonly File[]): Promise<void> {
  const problems: string[] = []
  for (const file of chosen) {
    const outcome = await readWorkflow(file)
    if ("problem" in outcome) problems.push(`${file.name} ${outcome.problem}`)
    else openWorkflow({ name: file.name.slice(0, -".wire".length), ...outcome, input: {}, isLocal: true })
  }
  // In the end: a file that is opened takes down what was said before.
  for (const problem of problems) notify(`Not opened: ${problem}.`, "wrong")
}

async function readWorkflow(file: File): Promise<{ readonly source: string } | { readonly problem: string }> {
  if (!file.name.endsWith(".wire")) return { problem: "is not a .wire file" }
  if (file.size > largestSource) return { problem: "is larger than 1 MB" }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer())
    return { source: text.replaceAll("\r\n", "\n") }
  } catch (error) {
    return { problem: error instanceof TypeError ? "is not a text in UTF-8" : "cannot be read" }
  }
}

/** The other files of an answer of the service. */
export function aroundOf(file: string | undefined, modules: object | undefined): SourceFiles {
  return filesOf({ file, modules: modules as SourceFiles["modules"] })
}
