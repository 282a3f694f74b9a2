import TransferAccess
import TransferIO
import TransferIntake
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferPorts
import TransferSystem

/// One event of the server, written as one line of the log.
package struct LogEvent: Sendable {
    /// The importance of an event, in ascending order.
    package enum Level: Int, Comparable, CaseIterable, Sendable {
        case debug, info, warning, error

        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

        package var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }

        /// The level with this name; nil if there is no such level.
        package init?(name: String) {
            guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = level
        }
    }

    let level: Level

    /// A stable name for machines.
    let name: String

    /// Whether clients can cause any number of these events at no cost. Their total rate is limited then; see `LogThrottle`.
    var isClientsFault = false

    /// The text for people. Text and fields are made only when the event is written: a server stores tens of thousands of files a second.
    let text: @Sendable () -> String

    /// Stable keys with their values, for machines.
    let fields: @Sendable () -> [(key: String, value: LogValue)]

    init(
        _ level: Level, _ name: String, _ text: @autoclosure @escaping @Sendable () -> String,
        _ fields: @autoclosure @escaping @Sendable () -> [(key: String, value: LogValue)] = []
    ) {
        self.level = level
        self.name = name
        self.text = text
        self.fields = fields
    }
}

/// The value of a field. It becomes JSON only if the log is JSON.
enum LogValue: Sendable {
    case null
    case string(String)
    case unsigned(UInt64)
    case number(Double)
    case bool(Bool)

    var json: JSONValue {
        switch self {
        case .null: .null
        case .string(let value): .string(value)
        case .unsigned(let value): .integer(value)
        case .number(let value): .double(value)
        case .bool(let value): .bool(value)
        }
    }
}

extension LogEvent {
    static func identity(_ key: ServerKey, isNew: Bool) -> LogEvent {
        LogEvent(
            .info, "identity", (isNew ? "made a new identity, " : "the server's identity is ") + key.fingerprint,
            [
                ("fingerprint", .string(key.fingerprint)), ("key", .string(key.hexadecimal)), ("new", .bool(isNew)),
            ])
    }

    static func confined(version: Int, to directory: String) -> LogEvent {
        LogEvent(
            .info, "confined",
            "the kernel confines this process to \(directory.escapedForDisplay) (Landlock \(version))",
            [("directory", .string(directory)), ("landlock", .unsigned(UInt64(clamping: version)))])
    }

    static func notConfined(_ reason: String) -> LogEvent {
        LogEvent(
            .warning, "notConfined",
            "the kernel cannot confine this process to its directory: \(reason.escapedForDisplay)",
            [("message", .string(reason))])
    }

    static func libraryUnusable(_ file: String, _ reason: String) -> LogEvent {
        LogEvent(
            .warning, "libraryUnusable",
            "\(file) is not used, which makes this server slower: \(reason). Install another version of it",
            [("file", .string(file)), ("message", .string(reason))])
    }

    static func certificate(_ fingerprint: KeyFingerprint) -> LogEvent {
        LogEvent(
            .info, "certificate", "the certificate's key is \(fingerprint)",
            [("fingerprint", .string(fingerprint.description))])
    }

    static func unfinishedUploads(_ uploads: UnfinishedContent) -> LogEvent {
        LogEvent(
            .info, "unfinishedUploads",
            "\(uploads.count) unfinished uploads take \(uploads.bytes) bytes in .transfer/incoming; "
                + "they can be resumed",
            [("count", .unsigned(UInt64(uploads.count))), ("size", .unsigned(uploads.bytes))])
    }

    static func unfinishedExpired(_ uploads: UnfinishedContent) -> LogEvent {
        LogEvent(
            .info, "unfinishedExpired", "removed \(uploads.count) unfinished uploads, \(uploads.bytes) bytes",
            [("count", .unsigned(UInt64(uploads.count))), ("size", .unsigned(uploads.bytes))])
    }

    static func trashExpired(_ batch: TrashBatch, _ files: UInt64) -> LogEvent {
        LogEvent(
            .info, "trashExpired", "permanently removed \(files) files that were put into the trash at \(batch.time)",
            [("batch", .string(batch.name)), ("count", .unsigned(files))])
    }

    static func expiryFailed(_ error: Failure) -> LogEvent {
        LogEvent(.error, "expiryFailed", error.message, [("result", .string(error.code.name))])
    }

    static func resumed(_ intent: UploadIntent, blocks: Int, peer: String) -> LogEvent {
        let (path, id, size) = (intent.path, intent.id, UInt64(blocks) * UInt64(Limits.blockSize))
        return LogEvent(
            .info, "resumed", "resumed \(path.escapedForDisplay), of which up to \(size) bytes are stored",
            [
                ("path", .string(path)), ("size", .unsigned(size)), ("peer", .string(peer)),
                ("uploadID", .string(id.description)),
            ])
    }

    /// Lookups found uploads that are acknowledged already. One line for all: a push of an unchanged tree asks about each of the tree's
    /// files.
    ///
    /// - Parameter count: number of these uploads; at least one.
    static func alreadyStored(_ count: Int, peer: String) -> LogEvent {
        LogEvent(
            .info, "alreadyStored", "\(count) uploads of \(peer) are stored already",
            [("count", .unsigned(UInt64(clamping: count))), ("peer", .string(peer))])
    }

    static func acceptFailed(_ error: SystemError) -> LogEvent {
        LogEvent(
            .error, "acceptFailed", "cannot accept connections now: \(error)", [("message", .string(error.description))]
        )
    }

    static func stopping(connections: Int) -> LogEvent {
        LogEvent(
            .info, "stopping", "stopping; \(connections) connections are open",
            [("connections", .unsigned(UInt64(connections)))])
    }

    static func leaving(_ delay: Interval) -> LogEvent {
        LogEvent(
            .info, "leaving", "asked to stop; accepting connections for another \(Int(delay.seconds)) s",
            [("seconds", .number(delay.seconds))])
    }

    static let stopped = LogEvent(.info, "stopped", "stopped")

    static func connected(peer: String) -> LogEvent {
        LogEvent(.debug, "connected", "connection from \(peer)", [("peer", .string(peer))])
    }

    static func protocolDetected(_ frontEnd: String, peer: String) -> LogEvent {
        LogEvent(
            .debug, "protocolDetected", "connection from \(peer) speaks \(frontEnd)",
            [("peer", .string(peer)), ("frontEnd", .string(frontEnd))])
    }

    static func handshakeCompleted(peer: String, _ security: StreamSocket.Security) -> LogEvent {
        let how = security.isResumed ? "resumed" : "begun"
        let client = security.peerKey.map { KeyFingerprint(of: $0.bytes).description }
        return LogEvent(
            .debug, "handshakeCompleted",
            "connection from \(peer) \(how) with TLS 1.3, \(security.cipher)" + (client.map { ", key \($0)" } ?? ""),
            [
                ("peer", .string(peer)), ("cipher", .string(security.cipher)), ("resumed", .bool(security.isResumed)),
                ("client", client.map { .string($0) } ?? .null),
            ])
    }

    static func admitted(peer: String, _ admission: Admission) -> LogEvent {
        let grant = admission.grant
        let how = admission.enrolled == nil ? "is" : "was paired as"
        return LogEvent(
            admission.enrolled == nil ? .debug : .info, "admitted", "connection from \(peer) \(how) \(grant.name)",
            [("peer", .string(peer)), ("client", .string(grant.name)), ("paired", .bool(admission.enrolled != nil))])
    }

    static func denied(peer: String, _ refusal: Refusal) -> LogEvent {
        LogEvent(
            .warning, "denied", "connection from \(peer) was not let in: \(refusal.message)",
            [("peer", .string(peer)), ("result", .string(refusal.code.name)), ("message", .string(refusal.message))]
        ).asClientsFault
    }

    static func accessListFailed(_ message: String) -> LogEvent {
        LogEvent(.warning, "accessListFailed", message, [("message", .string(message))])
    }

    static func handshakeFailed(peer: String, reason: String) -> LogEvent {
        LogEvent(
            .warning, "handshakeFailed",
            "connection from \(peer) failed in the TLS handshake: \(reason.escapedForDisplay)",
            [("peer", .string(peer)), ("reason", .string(reason))])
    }

    static func closed(peer: String, reason: String) -> LogEvent {
        LogEvent(
            .debug, "closed", "connection from \(peer) closed: \(reason.escapedForDisplay)",
            [("peer", .string(peer)), ("reason", .string(reason))])
    }

    static func protocolError(peer: String, _ fault: ProtocolFault) -> LogEvent {
        LogEvent(
            .warning, "protocolError",
            "connection from \(peer) refused: \(fault.code): \(fault.message.escapedForDisplay)",
            [("peer", .string(peer)), ("result", .string(fault.code.name)), ("message", .string(fault.message))]
        ).asClientsFault
    }

    /// - Parameter failures: the number of failed uploads for each reason, without those that were logged in separate lines.
    static func moreFailed(_ failures: [(code: ResultCode, count: Int)], peer: String) -> LogEvent {
        let total = failures.reduce(0) { $0 + $1.count }
        let reasons = failures.map { "\($0.count) \($0.code)" }.joined(separator: ", ")
        return LogEvent(
            .warning, "moreFailed", "\(total) more uploads from \(peer) failed: \(reasons)",
            [("count", .unsigned(UInt64(total))), ("message", .string(reasons)), ("peer", .string(peer))]
        ).asClientsFault
    }

    /// - Parameter count: lines that `LogSink` had no room for.
    static func linesDropped(_ count: Int) -> LogEvent {
        LogEvent(
            .warning, "linesDropped", "\(count) lines were left out, because the log was not read fast enough",
            [("count", .unsigned(UInt64(count)))])
    }

    /// - Parameter count: lines that `LogThrottle` has kept out of the log.
    static func linesSuppressed(_ count: Int) -> LogEvent {
        LogEvent(
            .warning, "linesSuppressed", "\(count) lines about faults of clients were left out",
            [("count", .unsigned(UInt64(count)))])
    }

    var asClientsFault: LogEvent {
        var event = self
        event.isClientsFault = true
        return event
    }

    /// - Parameter isQuiet: whether the client has filled its share of the log.
    static func started(_ upload: OpenUpload, peer: String, isQuiet: Bool) -> LogEvent {
        let (path, id, size) = (upload.intent.path, upload.intent.id, upload.intent.uploadSize)
        return LogEvent(
            isQuiet ? .debug : .info, "started",
            "started \(path.escapedForDisplay), \(size.map { "\($0) bytes" } ?? "size unknown")",
            [
                ("path", .string(path)), ("size", size.map { .unsigned($0) } ?? .null), ("peer", .string(peer)),
                ("uploadID", .string(id.description)),
            ])
    }

    static func connectionLost(_ upload: OpenUpload, peer: String) -> LogEvent {
        let (path, id, size) = (upload.intent.path, upload.intent.id, upload.size)
        return LogEvent(
            .warning, "connectionLost",
            "connection lost during the upload of \(path.escapedForDisplay) after \(size) bytes",
            [
                ("path", .string(path)), ("size", .unsigned(size)), ("peer", .string(peer)),
                ("uploadID", .string(id.description)),
            ]
        ).asClientsFault
    }

    /// - Parameters:
    ///   - id: the server's ID of the upload.
    ///   - path: where the content is, or was to be stored.
    ///   - recipients: the people that the upload is addressed to; empty for none.
    ///   - began: nanoseconds of the monotonic clock.
    ///   - client: the client's name; nil for a client without one.
    ///   - isRepeated: whether the same failure of this client was logged before.
    static func settled(
        _ result: UploadOutcome, _ id: UploadID, path: String, for recipients: [String] = [], began: Int64,
        peer: String, client: String?, isRepeated: Bool = false
    ) -> LogEvent {
        let seconds = Double(monotonicNanoseconds() - began) / 1e9
        let isSuccess = result.code.isSuccess
        let event = LogEvent(
            isSuccess ? .info : isRepeated ? .debug : .warning, isSuccess ? "stored" : "failed",
            text(result, path, recipients, seconds),
            recipientsField(recipients) + [
                ("result", .string(result.code.name)), ("path", .string(path)), ("size", .unsigned(result.size)),
                ("seconds", .number(seconds)), ("digest", result.digest.map { .string($0.description) } ?? .null),
                ("durable", .bool(result.isDurable)), ("message", .string(result.message)), ("peer", .string(peer)),
                ("client", client.map { .string($0) } ?? .null), ("uploadID", .string(id.description)),
            ])
        return isSuccess || isRepeated ? event : event.asClientsFault
    }

    /// Most names in one line of the log: an upload can have a thousand recipients.
    private static let mostRecipients = 8

    private static func recipientsField(_ names: [String]) -> [(key: String, value: LogValue)] {
        names.isEmpty ? [] : [("to", .string(shown(names)))]
    }

    private static func shown(_ names: [String]) -> String {
        let first = names.prefix(mostRecipients).joined(separator: ", ")
        return names.count > mostRecipients ? "\(first) and \(names.count - mostRecipients) others" : first
    }

    private static func text(
        _ result: UploadOutcome, _ path: String, _ recipients: [String], _ seconds: Double
    ) -> String {
        var text = LogText(capacity: path.utf8.count + 128)
        text.append(result.code.name)
        text.append(" ")
        text.append(path.escapedForDisplay)
        if !recipients.isEmpty { text.append(" for \(shown(recipients).escapedForDisplay)") }
        text.append(", ")
        text.append(result.size)
        text.append(" bytes")
        if let digest = result.digest {
            text.append(" in ")
            text.append(seconds, decimals: 3)
            text.append(" s (")
            text.append(Double(result.size) / 1e6 / seconds, decimals: 1)
            text.append(" MB/s), ")
            text.append(digest.algorithm.name)
            text.append(":")
            text.append(digest.hexadecimal)
        } else if !result.message.isEmpty {
            text.append(": ")
            text.append(result.message.escapedForDisplay)
        }
        return text.string
    }
}
