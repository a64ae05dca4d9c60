import type { DataKey, Vault } from "../ports/vault.ts"

// A run's key opens only for the caller who made the run: whoever can write to the database cannot give the run to another one.

export function newRunKey(vault: Vault, run_id: string, caller: string): ReturnType<Vault["newKey"]> {
  return vault.newKey(aboutRun(run_id, caller))
}

/** Throws `Damaged` where the run is not this caller's. */
export function openRunKey(vault: Vault, run_id: string, caller: string, wrapped: Uint8Array): DataKey {
  return vault.openKey(aboutRun(run_id, caller), wrapped)
}

/** Deleted when the run ends. */
export function newSecretsKey(vault: Vault, run_id: string): ReturnType<Vault["newKey"]> {
  return vault.newKey(aboutSecrets(run_id))
}

export function openSecretsKey(vault: Vault, run_id: string, wrapped: Uint8Array): DataKey {
  return vault.openKey(aboutSecrets(run_id), wrapped)
}

// What sealed things are about: changing these makes what is stored unreadable.

function aboutRun(run_id: string, caller: string): string {
  return `run ${run_id} of ${caller}`
}

function aboutSecrets(run_id: string): string {
  return `secrets of run ${run_id}`
}
