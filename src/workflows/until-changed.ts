import type { ServerSecrets } from "./server-secrets.ts"
import type { WorkflowFolder } from "./workflow-folder.ts"

/** Remembers what `make` makes of the folder's workflows and of the server's secrets, until one of them changes. */
export function untilChanged<T>(folder: WorkflowFolder, secrets: ServerSecrets, make: () => T): () => T {
  let kept: { readonly value: T; readonly version: number } | null = null
  folder.onChange(() => (kept = null))
  return () => {
    const { version } = secrets
    if (kept?.version !== version) kept = { value: make(), version }
    return kept.value
  }
}
