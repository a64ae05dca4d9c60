/** Whether the usual `OTEL_*` variables ask for traces. */
export function sendsTraces(environment: Readonly<Record<string, string | undefined>>): boolean {
  const endpoint = environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] ?? environment["OTEL_EXPORTER_OTLP_ENDPOINT"]
  return endpoint !== undefined && endpoint !== "" && environment["OTEL_SDK_DISABLED"] !== "true"
}
