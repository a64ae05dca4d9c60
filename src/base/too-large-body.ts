/** Why a body gets 413: the limit and its setting. */
export function tooLargeBody(maxBody: number): string {
  return `The body is larger than ${maxBody} bytes, the limit that WIRE_MAX_BODY sets`
}
