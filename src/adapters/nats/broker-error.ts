import { errors } from "@nats-io/transport-node"

/** What the client says where a socket was closed without an error, as a proxy does that has no broker behind it. */
const closedWithoutError = /undefined error/

/** Why the broker did not do what was asked: the end of a sentence for the operator. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof errors.TimeoutError) return "it does not answer"
  if (error instanceof errors.NoRespondersError) return "JetStream does not answer"
  if (closedWithoutError.test(error.message)) return "it closed the connection without an answer"
  if (error.message === "unexpected response from server") return "what answers there is not a NATS server"
  if ("code" in error && (error.code === "ENOTFOUND" || error.code === "EAI_AGAIN")) {
    return `the name ${"hostname" in error ? String(error.hostname) : "of its host"} is not known`
  }
  // Most nodes of a cluster must be there.
  if (error.message === "JetStream system temporarily unavailable") return `${error.message}: too few of its nodes run`
  return error.message
}
