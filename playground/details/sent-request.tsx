import { signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import type { CallRequestAnswer } from "../../src/client/client.ts"
import { notify } from "../page/notices.ts"
import { copyText } from "../share/copy.ts"
import { asksForKey, client } from "../service/service.ts"
import { Icon } from "../ui/icon.tsx"
import type { TextView } from "../values/json-tree.tsx"
import { JsonTree } from "../values/json-tree.tsx"
import { showBytes } from "../ui/show.ts"
import { requestCurl } from "./request-curl.ts"

/** Requests by run and call; null for those that the service does not have. */
const requests = signal<ReadonlyMap<string, CallRequestAnswer | null>>(new Map())
const maxKept = 50

function take(key: string, request: CallRequestAnswer | null): void {
  requests.value = new Map([...requests.value, [key, request] as const].slice(-maxKept))
}

async function load(key: string, run_id: string, call_id: string): Promise<void> {
  try {
    take(key, await client().callRequest(run_id, call_id))
  } catch (error) {
    if (!asksForKey(error, () => void load(key, run_id, call_id))) take(key, null)
  }
}

/** Copies the request of a call as it was sent, or says that the service does not have it. */
export async function copyCurl(run_id: string, call_id: string): Promise<void> {
  const key = `${run_id} ${call_id}`
  if (!requests.peek().get(key)) await load(key, run_id, call_id)
  const request = requests.peek().get(key)
  if (request) await copyText(requestCurl(request), curlName)
  else if (request === null) notify("The service does not have the request of this call.", "wrong")
}

const curlName = "Request as curl"

interface SentRequestProps {
  readonly run_id: string | undefined
  readonly call_id: string | undefined
  /** The id of the last event: a request is there once its turn, or its tool call, has ended. */
  readonly lastEvent: number
  /** Says where the texts of the body came from. */
  readonly view?: TextView | undefined
  /** Shown where the service does not have the request. */
  readonly children: ComponentChildren
}

/** The request of a model call or tool call as it went over the wire. */
export function SentRequest({ run_id, call_id, lastEvent, view, children }: SentRequestProps) {
  const key = `${run_id ?? ""} ${call_id ?? ""}`
  const request = run_id === undefined || call_id === undefined ? null : requests.value.get(key)
  useEffect(() => {
    if (run_id !== undefined && call_id !== undefined && !requests.peek().get(key)) void load(key, run_id, call_id)
  }, [key, request === null ? lastEvent : 0])
  if (request === undefined) return <p class="note">The request is on its way …</p>
  return request === null ? children : <Shown request={request} view={view} />
}

interface ShownProps {
  readonly request: CallRequestAnswer
  readonly view: TextView | undefined
}

function Shown({ request, view }: ShownProps) {
  const { method, url, headers, body, text, bytes, stable_bytes, sha256, redacted } = request
  return (
    <section class="part sent-request">
      <header>
        <h3>Request, as sent</h3>
        <button type="button" class="button" onClick={() => void copyText(requestCurl(request), curlName)}>
          Copy as curl
        </button>
        {text === null || text === "" ? null : (
          <button
            type="button"
            class="button square"
            aria-label="Copy body"
            title="Copy body"
            onClick={() => void copyText(text, "Body")}
          >
            <Icon name="copy" />
          </button>
        )}
      </header>
      <p class="wraps">
        <code>
          {method} {url}
        </code>
      </p>
      <ul class="sent-headers">
        {Object.entries(headers).map(([name, value]) => (
          <li key={name}>
            <code class="wraps">
              {name}: {value}
            </code>
          </li>
        ))}
      </ul>
      {text === null ? (
        <p class="hint-text">The body of {showBytes(bytes)} was too large to be kept.</p>
      ) : text === "" ? (
        <p class="hint-text">It has no body.</p>
      ) : (
        <>
          {stable_bytes === undefined || redacted ? null : (
            <Stable text={text} bytes={bytes} stable_bytes={stable_bytes} />
          )}
          <JsonTree value={body} label="Body" open={6} {...(view !== undefined && { view })} />
          {view === undefined ? null : <p class="hint-text">Point at a marked text to see where it came from.</p>}
          <p class="hint-text">
            {redacted
              ? "Secrets were replaced by their names: what was sent differs in these places."
              : "Exact bytes sent."}{" "}
            {showBytes(bytes)}
            {sha256 === null ? null : (
              <>
                , SHA-256 <code class="wraps">{sha256}</code>
              </>
            )}
          </p>
        </>
      )}
    </section>
  )
}

const shownBefore = 60

interface StableProps {
  readonly text: string
  readonly bytes: number
  readonly stable_bytes: number
}

/** Says where the part ends that is the same from call to call, which backends can keep. */
function Stable({ text, bytes, stable_bytes }: StableProps) {
  const all = new TextEncoder().encode(text)
  const read = (from: number, to: number): string => new TextDecoder().decode(all.subarray(Math.max(0, from), to))
  const share = bytes === 0 ? 0 : Math.round((100 * stable_bytes) / bytes)
  return (
    <p class="hint-text stable-part">
      The first {showBytes(stable_bytes)} ({share} %) stay the same from call to call. They end here:{" "}
      <code class="wraps">
        …{read(stable_bytes - shownBefore, stable_bytes)}
        <mark title="The stable part ends here">│</mark>
        {read(stable_bytes, stable_bytes + shownBefore)}…
      </code>
    </p>
  )
}
