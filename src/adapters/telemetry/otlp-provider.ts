import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources"
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base"

// Loaded where traces are wanted, and only there: it is a large part of what could be loaded at all.

/** Sends spans over OTLP, to where the usual `OTEL_*` variables say. */
export function otlpProvider(version: string): BasicTracerProvider {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "wireworks", "service.version": version }))
    .merge(detectResources({ detectors: [envDetector] }))
  return new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] })
}
