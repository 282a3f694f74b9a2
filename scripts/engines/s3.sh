#!/usr/bin/env bash
# Part of scripts/engines.sh, which reads it; not to be run.
# shellcheck disable=SC2154

# Servers that speak S3.

# Chooses the bucket's key and secret. Words: engine.
choose_key() {
    set_setting "$1" KEY "engines-$(random_word)"
    set_setting "$1" SECRET "$(random_word)"
}

s3_url() { echo "http://127.0.0.1:$(setting "$1" PORT)"; }

# Makes the bucket, puts an object into it, reads it and removes it.
answers_s3() {
    PYTHONPATH=$project/Tests python3 -B -m cluster.ready \
        "$(s3_url "$1")" "$(setting "$1" KEY)" "$(setting "$1" SECRET)" "$bucket"
}

environment_s3() {
    local engine=$1 prefix=ENGINES_${1^^}
    echo "$prefix=$(s3_url "$engine")"
    echo "${prefix}_KEY=$(setting "$engine" KEY)"
    echo "${prefix}_SECRET=$(setting "$engine" SECRET)"
    echo "${prefix}_BUCKET=$bucket"
    echo "${prefix}_PID=$(process_id "$engine" server)"
}

# Runs the command with a home that programs cannot write their files to.
launch_s3() { launch "$1" server env HOME=/nonexistent TMPDIR="$directory/$1" "${@:2}"; }

start_seaweedfs() {
    local fresh=$1 port ports=(MASTER MASTER_GRPC VOLUME VOLUME_GRPC FILER FILER_GRPC PORT S3_GRPC)
    local home=$directory/seaweedfs
    if $fresh; then
        choose_key seaweedfs
        mkdir "$home/data"
        (umask 077 && cat >"$home/identities.json") <<END
{"identities": [{"name": "transfer", "actions": ["Admin", "Read", "Write", "List"],
  "credentials": [{"accessKey": "$(setting seaweedfs KEY)", "secretKey": "$(setting seaweedfs SECRET)"}]}]}
END
    fi
    set_ports seaweedfs "${ports[@]}"
    for port in "${ports[@]}"; do local "$port=$(setting seaweedfs "$port")"; done
    # shellcheck disable=SC2153
    launch_s3 seaweedfs "$venv/bin/weed" -logtostderr server -dir=data -ip=127.0.0.1 -ip.bind=127.0.0.1 \
        -master.port="$MASTER" -master.port.grpc="$MASTER_GRPC" -master.volumeSizeLimitMB=1024 -master.telemetry=false \
        -volume.port="$VOLUME" -volume.port.grpc="$VOLUME_GRPC" -volume.max=0 -volume.preStopSeconds=0 \
        -filer -filer.port="$FILER" -filer.port.grpc="$FILER_GRPC" -filer.localSocket="$home/filer.sock" \
        -s3 -s3.port="$PORT" -s3.port.grpc="$S3_GRPC" -s3.localSocket="$home/s3.sock" -s3.config=identities.json \
        -s3.port.iceberg=0 -s3.port.lance=0
    await seaweedfs answers_s3 seaweedfs || return
    if $fresh; then await seaweedfs sync_seaweedfs "$MASTER.$MASTER_GRPC" "$FILER.$FILER_GRPC"; fi
}

# Lets SeaweedFS sync objects of the bucket before it answers, which it does not do by itself.
sync_seaweedfs() {
    HOME=/nonexistent timeout 30 "$venv/bin/weed" shell -master="127.0.0.1:$1" -filer="127.0.0.1:$2" \
        <<<"fs.configure -locationPrefix=/buckets/$bucket -fsync -apply" | grep '"fsync": *true'
}

# SeaweedFS makes sockets in /tmp, whatever TMPDIR says, and leaves them when it is killed.
clean_seaweedfs() {
    local part
    for part in MASTER VOLUME FILER S3; do
        rm -f "/tmp/seaweedfs-${part,,}-grpc-$(setting seaweedfs "${part}_GRPC").sock"
    done
}

start_rclone() {
    local home=$directory/rclone
    if $1; then
        choose_key rclone
        mkdir "$home/data"
        touch "$home/rclone.conf"
    fi
    set_ports rclone PORT
    launch_s3 rclone "$venv/bin/rclone" --config "$home/rclone.conf" --cache-dir "$home/cache" \
        serve s3 --addr "127.0.0.1:$(setting rclone PORT)" --auth-key "$(setting rclone KEY),$(setting rclone SECRET)" data
    await rclone answers_s3 rclone
}

start_moto() {
    if $1; then choose_key moto; fi
    set_ports moto PORT
    launch_s3 moto "$venv/bin/python" "$venv/bin/moto_server" -H 127.0.0.1 -p "$(setting moto PORT)"
    await moto answers_s3 moto
}
