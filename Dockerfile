# The service on its own: Node, and the bundle with all that it needs.

# `--build-arg NODE_IMAGE=node@sha256:…` builds on exactly one image: see docs/deploy.md.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM $NODE_IMAGE AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY playground/package.json playground/
COPY scripts/node/package.json scripts/node/
# What the service is built from, without the packages of the tests and without a second Node.
RUN npm ci --omit=dev --workspace=playground --include-workspace-root
COPY . .
RUN npm run build

FROM $NODE_IMAGE
ENV NODE_ENV=production WIRE_HOST=0.0.0.0 WIRE_PORT=13703 WIRE_DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/dist ./dist
RUN mkdir -p /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 13703
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD node -e "fetch('http://127.0.0.1:' + process.env.WIRE_PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
CMD ["node", "--max-semi-space-size=16", "dist/wire.js", "serve"]
