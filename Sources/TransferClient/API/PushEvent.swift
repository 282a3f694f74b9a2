import TransferConnection
import TransferIO
public import TransferModel
import TransferProtocol

/// What happens during a push, in order.
public enum PushEvent: Sendable {
    /// The server has answered.
    case connected(server: String)

    /// Something that people should be told: a sentence without its period, such as about a key that is new.
    case notice(String)

    /// The connection was lost; the next attempt follows after that many seconds.
    case reconnecting(reason: String, after: Double)

    /// Files and bytes in all, as far as they can be known; once, when counting was asked for and is done. Files are those
    /// that will have a report, also when they cannot be sent.
    case counted(files: Int, bytes: UInt64)

    /// How far the server is with an upload.
    case progress(UploadProgress)

    /// An upload ended.
    case finished(UploadReport)

    /// The uploads of a whole folder ended; in place of a report for each, where `ClientConfiguration.asksByFolder` is set.
    case known(KnownFolder)
}

/// How far an upload is; not a promise.
public struct UploadProgress: Sendable, Equatable {
    /// What is being done.
    public enum Phase: Sendable, Equatable {
        /// What the server has of an interrupted upload is compared with the source.
        case resuming
        /// The content is on its way.
        case sending
    }

    /// What is being done.
    public var phase = Phase.sending

    /// As in the report that will follow.
    public var source: String

    /// Bytes that the server has taken in, or that were compared.
    public var bytes: UInt64

    /// Bytes in all, where known.
    public var size: UInt64?
}

/// Why a push, or whatever else was asked of a server, could not go on. The reports before it stand.
public struct TransferFailure: Error, Sendable, Equatable {
    /// What kind of failure.
    public enum Reason: Sendable, Equatable {
        /// No connection, or none any more.
        case unreachable
        /// The server doesn't let this client in.
        case refused
        /// One side does not understand the other.
        case protocolFault
        /// The push was cancelled.
        case cancelled
        /// The server can't do what was asked for.
        case unsupported
        /// It may be the wrong server.
        case untrusted
        /// The server says why it doesn't do what was asked of it.
        case rejected(ResultCode)
    }

    /// What kind of failure.
    public let reason: Reason

    /// A sentence that says what to do.
    public let message: String

    /// What to do, where a command can do it.
    package let remedy: Remedy?

    /// Why there is no connection, as far as the system says; a clause.
    let cause: String?

    package init(reason: Reason, message: String, remedy: Remedy? = nil) {
        self.init(reason: reason, message: message, remedy: remedy, cause: nil)
    }

    init(reason: Reason, message: String, remedy: Remedy? = nil, cause: String?) {
        (self.reason, self.message) = (reason, message)
        (self.remedy, self.cause) = (remedy, cause)
    }
}

/// What the same command can be given so that it works, for whoever shows commands.
package struct Remedy: Sendable, Equatable {
    /// What it is good for, such as `to go on`.
    package let purpose: String

    /// The flags to add; none where the same command does it.
    package let flags: [String]

    /// Goes on after a lost connection.
    static let goingOn = Remedy(purpose: "to go on", flags: [])

    /// Talks to a server without TLS.
    static let bare = Remedy(purpose: "without encryption", flags: ["--plaintext"])
}

/// What happened, whether it was tried again, and what to do.
extension TransferFailure {
    /// - Parameters:
    ///   - nameAdvice: what to do where it was the name that led nowhere, before what is said to everybody; nothing where it
    ///     was not.
    ///   - seconds: for which it was tried, after a connection again; nothing when it was tried once.
    ///   - rest: what is not lost; nothing before anything was connected.
    static func unreachable(
        _ endpoint: Endpoint, _ reason: String, nameAdvice: String?, triedFor seconds: Double?,
        leaving rest: String? = "what is acknowledged"
    ) -> TransferFailure {
        let tries = seconds.map { retries($0, isAgain: rest != nil) } ?? "It was tried once"
        let left = rest.map { "; the same command goes on from \($0)." } ?? ", and nothing was sent."
        let advice =
            nameAdvice.map { "\($0)Look whether the name is spelt right, and whether this machine is in a network." }
            ?? "Look whether 'transfer serve' runs there, and on that port."
        return TransferFailure(
            reason: .unreachable, message: "Cannot reach \(endpoint): \(sentence(reason)) \(tries)\(left) \(advice)",
            remedy: rest.map { _ in .goingOn }, cause: "cannot reach \(endpoint): \(reason)")
    }

    /// - Parameter seconds: for which it was tried again; nothing where that would change nothing.
    static func refused(_ result: UploadResult, triedFor seconds: Double? = nil) -> TransferFailure {
        let isAccess = result.code.class == .access || result.code == .busy
        let tries = seconds.map { retries($0) } ?? retries(0)
        let advice = result.code == .unsupportedVersion ? " Whichever side is older has to be updated." : ""
        return TransferFailure(
            reason: isAccess ? .refused : .protocolFault,
            message: "The server refused: \(result.message) (\(result.code)). \(tries).\(advice)")
    }

    /// Nobody knows the server.
    static func unknown(_ server: UnknownServer) -> TransferFailure {
        let doubt =
            server.speaksTransfer ? "" : " It doesn't say that it speaks Transfer: look whether the port is right."
        return TransferFailure(
            reason: .untrusted,
            message: """
                The server \(server.address) is not known here.\(doubt) It shows the key \(server.fingerprint); nothing was sent. \
                If that is what the server's log says, say --server-key \(server.fingerprint), or once --trust-new.
                """,
            remedy: server.speaksTransfer
                ? Remedy(purpose: "to trust it", flags: ["--server-key", "\(server.fingerprint)"]) : nil)
    }

    static func broken(_ endpoint: Endpoint, _ fault: ProtocolFault) -> TransferFailure {
        if let service = ForeignService(opening: fault.opening) {
            return TransferFailure(reason: .unsupported, message: service.sentence(endpoint))
        }
        let message =
            fault.code == .unsupportedVersion
            ? "What answers at \(endpoint) is no server of this version: \(sentence(fault.message)) It was not tried again. "
                + "Look whether the port is right; if it is, whichever side is older has to be updated."
            : "The server broke the protocol: \(sentence(fault.message)) It was not tried again."
        return TransferFailure(reason: .protocolFault, message: message)
    }

    private static func sentence(_ text: String) -> String { text.utf8.last == UInt8(ascii: ".") ? text : text + "." }

    private static func retries(_ seconds: Double, isAgain: Bool = true) -> String {
        let whole = Int(min(max(0, seconds.rounded()), 1e9))
        guard whole > 0 else { return "It was not tried again" }
        return "It was tried \(isAgain ? "again " : "")for \(whole == 1 ? "1 second" : "\(whole) seconds")"
    }
}

extension ForeignService {
    /// For whoever has expected a server of ours there.
    func sentence(_ endpoint: Endpoint) -> String {
        "What listens at \(endpoint) is \(name), not a Transfer server. Nothing was sent. Look whether the port is right."
    }
}
