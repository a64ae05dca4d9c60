import { signal } from "@preact/signals"
import type { WorkflowAnswer } from "../../src/client/client.ts"
import { client } from "./service.ts"

/** The workflow of the server's folder that is in the editor, where it cannot be changed. */
export interface Served {
  readonly name: string
  readonly version: string
  /** Secrets that the server has need not be typed. */
  readonly secrets: WorkflowAnswer["secrets"]
}

/** Null for text of the author's own. */
export const served = signal<Served | null>(null)

/** The workflows of the server's folder, as of the last look. */
export const serverWorkflows = signal<readonly WorkflowAnswer[]>([])

/** Where the list cannot be had (a key is missing, say) it stays as it is. */
export async function loadServerWorkflows(): Promise<void> {
  try {
    serverWorkflows.value = await client().workflows()
  } catch {
    // A file that is opened shows what is wrong with it.
  }
}

/** The text becomes the author's own. */
export function editCopy(): void {
  served.value = null
}
