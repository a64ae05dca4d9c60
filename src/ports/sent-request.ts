/** A request as it goes over the wire, with its secrets. */
export interface SentRequest {
  /** `POST` unless given. */
  readonly method?: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Empty for a request without one. */
  readonly body: string
  /** Of a model call: bytes of the body up to the end of what stays the same from call to call. Absent where nobody knows. */
  readonly stable_bytes?: number
}
