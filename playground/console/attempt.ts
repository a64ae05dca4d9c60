import { notify } from "../page/notices.ts"
import { asksForKey, toWireError } from "../service/service.ts"

/** Says what went wrong; where a key is missing, asks for it and does it again. */
export async function attempt(work: () => Promise<unknown>, again: () => void): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!asksForKey(error, again)) notify(toWireError(error).message, "wrong")
  }
}
