import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

extension LogEvent {
    static func fetched(_ sending: FileSending, _ digest: Digest, peer: String) -> LogEvent {
        let (path, size) = (sending.path.string, sending.size)
        guard sending.request.length == nil else {
            // A long file goes in hundreds of parts; the last one stands for it.
            return LogEvent(
                sending.isLast ? .info : .debug, "fetched", "sent \(path.escapedForDisplay), \(size) bytes in parts",
                [("path", .string(path)), ("size", .unsigned(size)), ("peer", .string(peer))])
        }
        let seconds = Double(monotonicNanoseconds() - sending.started) / 1e9
        return LogEvent(
            .info, "fetched",
            "sent \(path.escapedForDisplay), \(size) bytes in \(seconds.shown(decimals: 3)) s, \(digest)",
            [
                ("path", .string(path)), ("size", .unsigned(size)), ("seconds", .number(seconds)),
                ("digest", .string(digest.description)), ("peer", .string(peer)),
            ])
    }

    static func listed(_ path: String, _ count: UInt64, peer: String) -> LogEvent {
        LogEvent(
            .debug, "listed", "listed \(path.isEmpty ? "the folder" : path.escapedForDisplay), \(count) entries",
            [("path", .string(path)), ("count", .unsigned(count)), ("peer", .string(peer))])
    }

    static func removed(_ path: String, _ files: UInt64, peer: String) -> LogEvent {
        LogEvent(
            .info, "removed", "removed \(path.escapedForDisplay), \(files) file\(files == 1 ? "" : "s")",
            [("path", .string(path)), ("count", .unsigned(files)), ("peer", .string(peer))])
    }

    static func discarded(_ path: String, peer: String) -> LogEvent {
        LogEvent(
            .info, "discarded", "put \(path.escapedForDisplay) into the trash",
            [("path", .string(path)), ("peer", .string(peer))])
    }

    /// What was made, moved or put into the trash.
    static func changed(_ request: Request, peer: String) -> LogEvent {
        if case .remove(let remove) = request { return .discarded(remove.path, peer: peer) }
        let path = request.path.escapedForDisplay
        let (name, message) =
            switch request {
            case .move(let move): ("moved", "moved \(path) to \(move.target.escapedForDisplay)")
            default: ("made", "made \(path), or changed its attributes")
            }
        return LogEvent(.info, name, message, [("path", .string(request.path)), ("peer", .string(peer))])
    }

    /// - Parameter isRepeated: whether the client had the same failure logged before.
    static func requestFailed(_ path: String, _ error: Failure, peer: String, isRepeated: Bool) -> LogEvent {
        let event = LogEvent(
            isRepeated ? .debug : .warning, "requestFailed",
            "\(error.code) \(path.escapedForDisplay): \(error.message.escapedForDisplay)",
            [
                ("result", .string(error.code.name)), ("path", .string(path)), ("message", .string(error.message)),
                ("peer", .string(peer)),
            ])
        return isRepeated ? event : event.asClientsFault
    }
}
