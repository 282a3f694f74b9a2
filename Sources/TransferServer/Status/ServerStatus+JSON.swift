import TransferAccess
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

extension ServerStatus {
    var json: JSONLine {
        [
            "schema": .string(StatusSocket.schema), "agent": .string(agent), "pid": .integer(pid),
            "directory": .string(directory), "state": isStopping ? "stopping" : "serving",
            "started": .string(started.description), "time": .string(now.description),
            "listening": .array(endpoints.map { .string($0) }),
            "advertised": advertised.map { .string($0) } ?? .null, "encrypted": .bool(isEncrypted),
            "anonymous": .bool(allowsAnonymous),
            "connections": .object([
                "count": .integer(connections.count),
                "pending": .integer(connections.count { !$0.isEstablished }),
                "list": Self.list(listedConnections, \.json),
                "omitted": .integer(connections.count - listedConnections.count),
            ]),
            "uploads": .object([
                "count": .integer(uploads.count), "rate": Self.rate(uploads.reduce(0) { $0 + $1.rate }),
                "list": Self.list(listedUploads, \.json),
                "omitted": .integer(uploads.count - listedUploads.count),
            ]),
            "space": .object(space), "syncFailed": .bool(isInDoubt), "restarts": restarts.map { .integer($0) } ?? .null,
            "crashes": .object(crashReports), "adoption": adoption.map { .object($0.json) } ?? .null,
            "mail": mail.map { .object($0.json) } ?? .null,
            "catalog": figures.catalog.map { .object(Self.totals($0)) } ?? .null,
        ]
    }

    /// At most `longestList` connections, the fastest first.
    private var listedConnections: ArraySlice<Connection> {
        connections.sorted { ($1.rate, $0.number) < ($0.rate, $1.number) }.prefix(Self.longestList)
    }

    /// At most `longestList` uploads, the oldest first.
    private var listedUploads: ArraySlice<Upload> {
        uploads.sorted { $0.seconds > $1.seconds }.prefix(Self.longestList)
    }

    private var space: JSONLine {
        [
            "free": Self.optional(room?.free), "total": Self.optional(room?.total), "reserved": .integer(reserved),
            "minimumFree": Self.optional(minimumFree), "quota": Self.optional(quota?.limit),
            "quotaUsed": Self.optional(quota?.used),
            "unfinished": figures.unfinished.map {
                .object(["count": .integer($0.count), "bytes": .integer($0.bytes)])
            } ?? .null,
        ]
    }

    private var crashReports: JSONLine {
        let latest = crashes.last.map { entry -> JSONValue in
            .object([
                "time": .string(entry.time), "signal": .string(entry.signal),
                "report": .string("\(crashFolder)/\(entry.name)"),
            ])
        }
        return ["count": .integer(crashes.count), "latest": latest ?? .null]
    }

    private static func totals(_ totals: [CatalogEntry.State: CatalogTotals]) -> JSONLine {
        var line = JSONLine()
        for (name, state) in [("stored", CatalogEntry.State.committed), ("alreadyStored", .alreadyStored)] {
            let total = totals[state] ?? CatalogTotals()
            line.append(name, .object(["count": .integer(total.uploads), "bytes": .integer(total.bytes)]))
        }
        return line
    }

    private static func list<T>(_ items: ArraySlice<T>, _ json: (T) -> JSONLine) -> JSONValue {
        .array(items.map { .object(json($0)) })
    }

    fileprivate static func optional(_ number: UInt64?) -> JSONValue { number.map { .integer($0) } ?? .null }

    /// The rate in whole bytes a second.
    fileprivate static func rate(_ value: Double) -> JSONValue {
        .integer(UInt64(exactly: max(0, value).rounded()) ?? 0)
    }
}

extension Adoption.Progress {
    fileprivate var json: JSONLine {
        [
            "paths": paths.map { .integer($0) } ?? .null, "compared": .integer(compared), "adopted": .integer(adopted),
            "mismatched": .integer(mismatched), "unreadable": .integer(unreadable), "bytes": .integer(bytes),
            "waiting": .bool(isWaiting),
        ]
    }
}

extension ServerStatus.Mail {
    fileprivate var json: JSONLine {
        [
            "open": .bool(isOpen), "count": .integer(waiting.count), "bytes": .integer(waiting.bytes),
            "mailboxes": .integer(mailboxes), "connected": .integer(connected),
        ]
    }
}

extension ServerStatus.Connection {
    fileprivate var json: JSONLine {
        [
            "number": .integer(number), "peer": .string(peer), "client": client.map { .string($0) } ?? .null,
            "state": isEstablished ? "open" : "handshake",
            "since": .string(UTCTime(clamping: since / 1_000_000_000).description), "stored": .integer(stored),
            "received": .integer(received), "sent": .integer(sent), "rate": ServerStatus.rate(rate),
        ]
    }
}

extension ServerStatus.Upload {
    fileprivate var json: JSONLine {
        [
            "path": .string(path), "client": client.map { .string($0) } ?? .null, "size": ServerStatus.optional(size),
            "received": .integer(received), "rate": ServerStatus.rate(rate), "seconds": .double(seconds),
            "connections": .integer(connections),
        ]
    }
}
