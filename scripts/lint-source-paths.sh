#!/bin/sh
# Refuses calls by path in the client where sources are looked at, read, moved and removed: other users may change names on the way. What
# was found below a directory is reached by SourcePlace and SourceDirectory. The files below look at what was named itself, or at what is
# this user's own.
set -eu
cd "$(dirname "$0")/.."
allowed='SourcePlace SourceDirectory MoveTarget UploadFeed ServerPlaces SyncWorker TransferClient+Requests WatchLoop+Directory
WatchLoop+Scanning StateFolder SourceID SealingPlace TusPlace WatchJournal'
find Sources/TransferClient -name '*.swift' | sort | while read -r file; do
    case " $(echo "$allowed" | tr '\n' ' ') " in
    *" $(basename "$file" .swift) "*) ;;
    *) echo "$file" ;;
    esac
done | xargs awk '
    /^ *\/\// { next }
    /AT_FDCWD|(^|[^A-Za-z0-9_.])(opendir|lstat|realpath|mkdir|rmdir|readlink|access|chmod|truncate)\(/ ||
        (/(^|[^A-Za-z0-9_.])(stat|unlink|rename)\([a-z"]/ && !/await stat\(|func |try (unlink|rename)\(/) {
        print FILENAME ":" FNR ": a call by path; use SourcePlace or SourceDirectory"
        failed = 1
    }
    END { exit failed }'
