import type { FastifyRequest } from "fastify"

declare module "fastify" {
  interface FastifyRequest {
    /** The caller, once it is known. */
    caller: string | null
    /** The caller has an operator's key. */
    isOperator: boolean
  }
}

export function callerOf({ caller }: FastifyRequest): string {
  if (caller === null) throw new Error("A route ran before its caller was known")
  return caller
}

/** Whether the request may see, cancel and delete a run of this caller. */
export function reaches(request: FastifyRequest, ofRun: string): boolean {
  return request.isOperator || callerOf(request) === ofRun
}

/** The caller whose share of the service a request uses. Without keys all callers are one, and addresses distinguish them. */
export function tenantOf(request: FastifyRequest): string {
  const caller = callerOf(request)
  return caller === "" ? request.ip : caller
}
