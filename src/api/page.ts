import { integer, nullable, optional, string, withRefusal } from "./schema.ts"

export const usualLimit = 50
const mostItems = 500

/** Which part of a list is asked for. `usual`: how many items it has without a limit. */
export const pageFields = (usual: string) => ({
  limit: optional(
    withRefusal(
      `\`limit\` must be an integer from 1 to ${mostItems}`,
      integer({ minimum: 1, maximum: mostItems, description: `1 to ${mostItems}; ${usual} unless given.` }),
    ),
  ),
  after: optional(string({ minLength: 1, maxLength: 1000, description: "`next` of the page before." })),
})

export const next = nullable(string(), { description: "`after` of the next page; null on the last one." })
