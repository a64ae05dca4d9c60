import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources"
import { BasicTracerProvider, BatchSpanProcessor, RandomIdGenerator } from "@opentelemetry/sdk-trace-base"
import { OwnTraces } from "./own-traces.ts"

// Loaded where traces are wanted, and only there: it is a large part of what could be loaded at all.

/** Sends spans over OTLP, to where the usual `OTEL_*` variables say. */
export function otlpProvider(version: string): { readonly provider: BasicTracerProvider; readonly ids: OwnTraces } {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "wireworks", "service.version": version }))
    .merge(detectResources({ detectors: [envDetector] }))
  const ids = new OwnTraces(new RandomIdGenerator())
  const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter())]
  return { provider: new BasicTracerProvider({ resource, spanProcessors, idGenerator: ids }), ids }
}
