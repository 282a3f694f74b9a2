#!/bin/sh
# Refuses system calls with a path in the code of the client that examines, reads, moves and removes sources, because
# another user can change a name in the path. Files found below a directory are opened by SourcePlace and SourceDirectory.
# The exceptions below handle operands themselves, or files that belong to this user.
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
