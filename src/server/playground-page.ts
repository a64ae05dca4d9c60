import { readQualityList } from "./quality-list.ts"

/** A file of the playground as it is answered. */
export interface Page {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
  /** The same body, smaller; the best first. */
  readonly compressed: readonly { readonly encoding: string; readonly body: Buffer }[]
}

/** The headers and body for a client that accepts these encodings. */
export function encodePage(page: Page, accepted: string | undefined): Pick<Page, "headers" | "body"> {
  if (page.compressed.length === 0) return page
  const headers = { ...page.headers, vary: "accept-encoding" }
  const qualities = readQualityList(accepted)
  const chosen = page.compressed.find(({ encoding }) => (qualities.get(encoding) ?? 0) > 0)
  if (chosen === undefined) return { headers, body: page.body }
  return { headers: { ...headers, "content-encoding": chosen.encoding }, body: chosen.body }
}
