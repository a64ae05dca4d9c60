import { signal } from "@preact/signals"
import { WireworksClient, WireworksError } from "../../src/client/client.ts"
import type { ApiError } from "../../src/api/error-kinds.ts"
import type { ErrorIssue } from "../../src/log/events.ts"

/** The service that served this page, whatever path it is mounted at. */
export const baseUrl = rootOf(document).replace(/\/$/, "")

/** A page names the way to the service's root where it does not lie there itself. */
function rootOf(page: Document): string {
  return new URL(page.querySelector<HTMLMetaElement>("meta[name=service-root]")?.content ?? ".", location.href).href
}

/** The entry of a diagnostic's code in the documentation that this service serves. */
export function codeAddress(code: string): string {
  return `${baseUrl}/playground/diagnostics.html#${code}`
}

/** Asked for when the service wants one; lives as long as the page. */
export const apiKey = signal<string | undefined>(undefined)

export function client(): WireworksClient {
  const key = apiKey.value
  return new WireworksClient({ baseUrl, maxReconnects: 30, ...(key !== undefined && { apiKey: key }) })
}

/** What the dialog for the API key does once there is one. */
export const keyWanted = signal<{ readonly wrong: boolean; readonly retry: () => void } | null>(null)

/** Asks for a key and does the thing again, when that is what was missing. */
export function asksForKey(error: unknown, retry: () => void): boolean {
  if (!(error instanceof WireworksError) || error.status !== 401) return false
  keyWanted.value = { wrong: apiKey.value !== undefined, retry }
  return true
}

/** Any failure of a call as the contract's error, so that it can be shown as a sentence with a next step. */
export function toWireError(error: unknown): ApiError {
  if (error instanceof WireworksError) return { kind: error.kind, message: error.message, issues: error.issues }
  const unreachable: readonly ErrorIssue[] = [
    { path: "", message: "", hint: "Check that it is running and reachable from this browser, then run again." },
  ]
  return { kind: "internal_error", message: "The service did not answer", issues: unreachable }
}
