import { loopTurns } from "../event-loop/loop-turns.ts"
import { requestPageBytes } from "../base/limits.ts"

/** Writes a page of a list item by item, so that others have their turns. A page has at least one item, however large. */
export class ListPage {
  readonly #items: string[] = []
  #bytes = 0

  get size(): number {
    return this.#items.length
  }

  /** False: the page is full, and the item is not on it. */
  async add(item: unknown): Promise<boolean> {
    const text = JSON.stringify(item)
    await loopTurns.spend(text.length)
    const bytes = Buffer.byteLength(text) + 1
    if (this.#items.length > 0 && this.#bytes + bytes > requestPageBytes) return false
    this.#items.push(text)
    this.#bytes += bytes
    return true
  }

  /** An object with the list under this name. */
  write(name: string, { before = {}, after = {} }: { readonly before?: object; readonly after?: object }): string {
    const fields = (object: object): string => JSON.stringify(object).slice(1, -1)
    const list = `${JSON.stringify(name)}:[${this.#items.join(",")}]`
    return `{${[fields(before), list, fields(after)].filter((part) => part !== "").join(",")}}`
  }
}

export const jsonType = "application/json; charset=utf-8"
