import type { Client } from "@modelcontextprotocol/client"
import { ProtocolError, SdkHttpError } from "@modelcontextprotocol/client"
import type { HttpTransport } from "./http-transport.ts"

/** The failure behind the SDK's error. */
export function unwrapSdkError(error: unknown, client: Client, transport: HttpTransport): unknown {
  if (error instanceof ProtocolError) return transport.failureBehind(error.code, error.data) ?? error
  // In the newest era errors of the protocol come with a status of their own; the SDK reads those of one only.
  if (client.getProtocolEra() !== "modern" || !(error instanceof SdkHttpError)) return error
  const { status, data } = error
  if (status === undefined || status < 400 || status >= 500 || status === 401 || status === 403) return error
  return protocolErrorIn(data["text"]) ?? error
}

function protocolErrorIn(body: unknown): ProtocolError | undefined {
  if (typeof body !== "string") return undefined
  try {
    const { error } = JSON.parse(body) as { error?: { code?: unknown; message?: unknown; data?: unknown } }
    if (typeof error?.code !== "number" || typeof error.message !== "string") return undefined
    return ProtocolError.fromError(error.code, error.message, error.data)
  } catch {
    return undefined
  }
}
