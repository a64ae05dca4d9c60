import type { ErrorIssue } from "../log/events.ts"
import { noticeEvents, type Notify } from "../ports/notices.ts"
import type { NotifyOption } from "../api/execute.ts"
import { wireError } from "../ports/run-failure.ts"
import { HttpError } from "./http-error.ts"

/** Where runs may send notices. */
export interface NotifyRules {
  /** Origins in the form of `URL.origin`. */
  readonly origins: ReadonlySet<string>
  /** There is a secret to sign them with. */
  readonly signed: boolean
}

/** With all events written out, in one order: two requests that ask for the same are the same. */
export function readNotify(option: NotifyOption | null | undefined): Notify | undefined {
  if (option === null || option === undefined) return undefined
  const { url, events } = option
  return { url, events: noticeEvents.filter((event) => events?.includes(event) ?? true) }
}

/** Throws an `input_error` for a URL that the operator does not allow, and where notices cannot be signed. */
export function checkNotify(notify: Notify | undefined, { origins, signed }: NotifyRules): void {
  if (notify === undefined) return
  const issues: ErrorIssue[] = []
  const problem = urlProblem(notify.url, origins)
  if (problem !== null) issues.push({ path: "options.notify.url", message: problem })
  if (!signed) {
    const message = "Notifications cannot be signed: the service has no WIRE_NOTIFY_SECRET"
    issues.push({ path: "options.notify", message })
  }
  const [first, ...rest] = issues
  if (first !== undefined) throw new HttpError(wireError("input_error", [first, ...rest]))
}

function urlProblem(text: string, origins: ReadonlySet<string>): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return "Notifications go to an http or https URL"
  if (url.username !== "" || url.password !== "") return "The URL must not hold a user name or password"
  if (!origins.has(url.origin)) {
    return `Notifications may not be sent to ${url.origin}: WIRE_NOTIFY_ORIGINS does not list it`
  }
  return null
}
