/** The error codes of JSON-RPC and of the Language Server Protocol that this server answers with. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  serverNotInitialized: -32002,
  requestFailed: -32803,
  requestCancelled: -32800,
} as const

/** An answer to a request that says why there is no result. */
export class RpcError extends Error {
  readonly code: number

  constructor(kind: keyof typeof rpcCodes, message: string) {
    super(message)
    this.code = rpcCodes[kind]
  }
}
