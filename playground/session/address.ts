import { batch, effect } from "@preact/signals"
import { activeFile, allContents, fileName, files, showFile } from "../files/files.ts"
import { isLink, readAddress, toAddress } from "../share/link.ts"
import type { ResultTab } from "../page/layout.ts"
import { resultTab, resultTabs } from "../page/layout.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { unknownRequest } from "../shown-run/run-view.ts"
import { graphOf, liveRun, shownRun, watchWhole } from "../shown-run/shown-run.ts"
import { askedOrigin } from "../output/asked-origin.ts"
import { openingRun, openRun, showFileOf } from "../run/open-run.ts"

/** Runs that this page has shown, to go back to without asking the service; the newest last. */
const seen = new Map<string, RunView>()
const maxSeen = 20

const firstTab: ResultTab = "timeline"

/** The address of what is looked at. */
function addressNow(): string {
  const run = openingRun.value ?? watchWhole()?.run_id
  const file = files.value.length > 1 ? fileName.value : undefined
  const tab = resultTab.value === firstTab ? undefined : resultTab.value
  const origin = run === undefined ? undefined : askedOrigin.value?.path
  return toAddress({ run, file, tab, origin })
}

/** Keeps what is looked at in the page's address: another browser, a reload, and the browser's back and forward find it again. */
export function keepAddress(): void {
  let kept: string | undefined
  effect(() => {
    const run = watchWhole()
    if (run?.run_id !== undefined) remember(run.run_id, run)
    const address = addressNow()
    // Only when it changes: an address that the user has just typed is not overwritten.
    if (address === kept) return
    const isFirst = kept === undefined
    kept = address
    const { hash, pathname, search } = location
    if (isLink(hash) || hash === address) return
    const url = `${pathname}${search}${address}`
    if (isFirst) history.replaceState(null, "", url)
    else history.pushState(null, "", url)
  })
}

function remember(run_id: string, run: RunView): void {
  seen.delete(run_id)
  seen.set(run_id, run)
  const [oldest = ""] = seen.keys()
  if (seen.size > maxSeen) seen.delete(oldest)
}

/** Where one file was open the address does not name it. A file that has been edited since stays as it is. */
function showOwnFile({ request }: RunView): void {
  if (request === unknownRequest) return
  const same = allContents().find(({ content }) => content.name === request.name)
  if (same !== undefined && same.content.source !== request.source && same.isEdited) showFile(same.id)
  else showFileOf({ request, served: null })
}

/** The user has gone back or forward, or has changed the address. */
export function followAddress(): void {
  if (isLink(location.hash)) return
  const { run, file, tab, origin } = readAddress(location.hash)
  batch(() => {
    askedOrigin.value = origin === undefined ? null : { path: origin }
    const wanted = file === undefined ? undefined : allContents().find(({ content }) => content.name === file)
    if (wanted !== undefined && wanted.id !== activeFile.value) showFile(wanted.id)
    resultTab.value = resultTabs.find((name) => name === tab) ?? firstTab
    if (run === shownRun.value?.run_id) return
    const known = run === undefined ? null : seen.get(run)
    if (known !== undefined && known !== null && file === undefined) showOwnFile(known)
    if (known === undefined) void openRun(run ?? "")
    else {
      openingRun.value = undefined
      shownRun.value = known
      if (known === null && liveRun.value === null) graphOf.value = "other"
    }
  })
}
