import { signal } from "@preact/signals"

// Where a person is: the page is the last part of the address, what it shows stands behind the question mark. So every view has a link.

export const pageNames = ["runs", "questions", "workflows", "triggers", "budgets", "scores", "files", "health"] as const
export type PageName = (typeof pageNames)[number]

export interface Place {
  readonly page: PageName
  readonly params: URLSearchParams
}

export const place = signal<Place>(readPlace())

function readPlace(): Place {
  const last = location.pathname.split("/").at(-1) ?? ""
  return { page: pageNames.find((name) => name === last) ?? "runs", params: new URLSearchParams(location.search) }
}

export function watchAddress(): void {
  addEventListener("popstate", () => (place.value = readPlace()))
}

export function addressOf(page: PageName, params?: URLSearchParams): string {
  const query = params?.toString() ?? ""
  return query === "" ? page : `${page}?${query}`
}

/** Goes to another view; `replace` leaves no step in the browser's history, for what is typed. */
export function goTo(page: PageName, params = new URLSearchParams(), replace = false): void {
  const address = addressOf(page, params)
  if (replace) history.replaceState(null, "", address)
  else history.pushState(null, "", address)
  place.value = { page, params }
}

/** The parameters of this view with some of them changed; null takes one away. */
export function changed(changes: Readonly<Record<string, string | null>>): URLSearchParams {
  const params = new URLSearchParams(place.peek().params)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") params.delete(name)
    else params.set(name, value)
  }
  return params
}
