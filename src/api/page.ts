import { integer, nullable, optional, string, withRefusal } from "../base/typed-schema.ts"

export const defaultLimit = 50
const maxItems = 500

/** Query fields that select a page of a list. `usual`: the size of a page without a limit. */
export const pageFields = (usual: string) => ({
  limit: optional(
    withRefusal(
      `\`limit\` must be an integer from 1 to ${maxItems}`,
      integer({ minimum: 1, maximum: maxItems, description: `1 to ${maxItems}; ${usual} unless given.` }),
    ),
  ),
  after: optional(string({ minLength: 1, maxLength: 1000, description: "`next` of the page before." })),
})

export const next = nullable(string(), { description: "`after` of the next page; null on the last one." })
