import type { ComponentChildren } from "preact"
import { renaming } from "../editor/renaming.ts"
import { addPart, mainPath, partPaths, removePart, showPart } from "../language/parts.ts"
import { notify } from "../page/notices.ts"
import { served } from "../service/served.ts"
import { shownPart } from "../language/source.ts"
import { Icon } from "../ui/icon.tsx"
import { Tabs } from "../ui/tabs.tsx"

/** The name of the tab of a part; null is the main source. Paths may have characters that ids cannot have. */
function nameOf(path: string | null): string {
  return String(path === null ? 0 : partPaths.value.indexOf(path) + 1)
}

/** Holds the editor; the panel of the tabs, where there are any. */
export function PartPanel({ children }: { readonly children: ComponentChildren }) {
  const name = nameOf(shownPart.value)
  const panel =
    partPaths.value.length === 0
      ? {}
      : { role: "tabpanel" as const, id: `parts-${name}-panel`, "aria-labelledby": `parts-${name}-tab` }
  return (
    <div class="column" {...panel}>
      {children}
    </div>
  )
}

/** The files that the workflow consists of, where there are several; the editor shows one of them. */
export function PartTabs() {
  const paths = partPaths.value
  if (paths.length === 0) return null
  const shown = shownPart.value
  return (
    <Tabs<string>
      label="Files of this workflow"
      id="parts"
      current={nameOf(shown)}
      onSelect={(name) => showPart(paths[Number(name) - 1] ?? null)}
      items={[mainPath.value, ...paths].map((label, at) => ({ name: String(at), label }))}
      tools={
        served.value !== null ? null : (
          <>
            {shown === null ? null : (
              <button
                type="button"
                class="button square"
                aria-label={`Remove ${shown} from this workflow`}
                title={`Remove ${shown} from this workflow`}
                onClick={() => removePart(shown)}
              >
                <Icon name="trash" />
              </button>
            )}
            <button
              type="button"
              class="button square"
              aria-label="Add a file to this workflow"
              title="Add a file to this workflow"
              onClick={askForPart}
            >
              <Icon name="plus" />
            </button>
          </>
        )
      }
    />
  )
}

export function askForPart(): void {
  if (served.value !== null) {
    notify("This is the server's workflow: edit a copy of it to add a file.", "wrong", () => served.value !== null)
    return
  }
  renaming.value = {
    name: "lib/common.wire",
    rename: addPart,
    note: "Its path from the folder of the main file. It is imported as `./lib/common.wire`; code ends in `.js` or `.ts`.",
    title: "Add a file to this workflow",
  }
}
