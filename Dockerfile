# Images with queue_ext, built from this checkout:
#
#   docker build -t postgres-queue_ext .                     the official image, with the extension
#   docker build -t queue_ext --target extension .           the extension's files alone, as CloudNativePG
#                                                            mounts them (PostgreSQL 18 and later)
#
# PG_MAJOR and DEBIAN choose the official image: --build-arg PG_MAJOR=17. See doc/install.md.

ARG PG_MAJOR=18
ARG DEBIAN=trixie

FROM postgres:${PG_MAJOR}-${DEBIAN} AS build
ARG PG_MAJOR
RUN apt-get -q update && apt-get -qy --no-install-recommends install g++ make postgresql-server-dev-${PG_MAJOR}
COPY . /queue_ext
RUN make -C /queue_ext -j2 PG_CONFIG=/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config
RUN make -C /queue_ext install DESTDIR=/installed PG_CONFIG=/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config
RUN mkdir -p /image/lib /image/share /image/licenses/queue_ext
RUN cp /installed/usr/lib/postgresql/${PG_MAJOR}/lib/queue_ext.so /image/lib/
RUN cp -R /installed/usr/share/postgresql/${PG_MAJOR}/extension /image/share/
RUN cp /queue_ext/LICENSE /image/licenses/queue_ext/

FROM scratch AS extension
COPY --from=build /image/ /

FROM postgres:${PG_MAJOR}-${DEBIAN} AS server
COPY --from=build /installed/usr/lib/ /usr/lib/
COPY --from=build /installed/usr/share/postgresql/ /usr/share/postgresql/
