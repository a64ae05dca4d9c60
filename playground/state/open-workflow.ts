import type { JsonObject } from "../../src/base/json-value.ts"
import { editor } from "./editor-port.ts"
import { setInput } from "./input.ts"
import { paneTab } from "./layout.ts"
import { dismissAll, notify } from "./notices.ts"
import type { OptionTexts } from "./options.ts"
import { optionTexts, usualOptions } from "./options.ts"
import { graphOf, liveRun, shownRun } from "./runs.ts"
import { forgetSecrets } from "./secrets.ts"
import { selection } from "./selection.ts"
import type { Served } from "./served.ts"
import { served } from "./served.ts"
import { asksForKey, client, toWireError } from "./service.ts"
import type { Origin } from "./source.ts"
import { compileNow, linkHasRun, origin, takeText } from "./source.ts"
import { signal } from "@preact/signals"

/** What the button above the editor calls the workflow: an example's name, as long as nothing else was opened. */
export const workflowName = signal("Hello")

export interface Workflow {
  readonly name: string
  readonly source: string
  readonly input: JsonObject
  readonly options?: Partial<OptionTexts>
  readonly origin?: Origin
  /** It is one of the server's, which cannot be changed here. */
  readonly served?: Served | null
}

/** Puts a workflow into the editor and its form. A workflow from a link never gets secrets that were typed for another one. */
export function openWorkflow(workflow: Workflow): void {
  const { name, source, input, options, origin: from = "own" } = workflow
  dismissAll()
  if (from === "link") forgetSecrets()
  served.value = workflow.served ?? null
  origin.value = from
  linkHasRun.value = false
  workflowName.value = name
  const port = editor()
  if (port === undefined) takeText(source)
  else {
    port.replace(source)
    compileNow()
  }
  setInput(input)
  optionTexts.value = { ...usualOptions, ...options }
  selection.value = null
  graphOf.value = "other"
  if (liveRun.value === null) shownRun.value = null
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
