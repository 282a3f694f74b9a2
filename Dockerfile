# A server that receives into the volume /var/lib/transfer, on port 5288:
#
#   docker build --tag transfer .
#   docker run --publish 5288:5288 --volume transfer:/var/lib/transfer transfer
#
# The first start prints a line that lets one client in; --advertise HOST says under which address it reaches the server.
# More flags follow the name of the image: docker run … transfer serve --dir /var/lib/transfer --listen 0.0.0.0:5288 …
FROM swift:6.2-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends make
WORKDIR /source
# First what seldom changes.
COPY scripts/bootstrap.sh scripts/swift-path.sh scripts/
RUN scripts/bootstrap.sh
COPY . .
RUN make build && strip .build/release/transfer

FROM debian:bookworm-slim
# The C++ library, what is opened at run time, and the authorities that a bucket's certificate is checked against.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates libstdc++6 libpq5 libqrencode4 libxxhash0 \
    && if [ "$(dpkg --print-architecture)" = amd64 ]; then \
        apt-get install --yes --no-install-recommends libisal2 libipsec-mb1; fi \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 5288 --user-group --home-dir /var/lib/transfer --no-create-home \
        --shell /usr/sbin/nologin transfer \
    && install -d -o transfer -g transfer -m 0750 /var/lib/transfer
COPY --from=build /source/.build/release/transfer /usr/local/bin/transfer
USER transfer
# Clients could write there, so nothing that the server trusts may be in it.
ENV HOME=/nonexistent
WORKDIR /var/lib/transfer
VOLUME /var/lib/transfer
EXPOSE 5288
HEALTHCHECK CMD ["transfer", "status", "--dir", "/var/lib/transfer"]
ENTRYPOINT ["transfer"]
CMD ["serve", "--dir", "/var/lib/transfer", "--listen", "0.0.0.0:5288"]
