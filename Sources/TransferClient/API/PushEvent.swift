import TransferConnection
import TransferIO
public import TransferModel
import TransferProtocol

/// An event of a push; events arrive in order.
public enum PushEvent: Sendable {
    /// The server has let the client in.
    case connected(server: String)

    /// A sentence for the user, without its final period, for example about a new key.
    case notice(String)

    /// The connection was lost; the client tries again after `after` seconds.
    case reconnecting(reason: String, after: Double)

    /// The total number of files and bytes, as far as it is known. The event is sent once, when `countsAhead` is set
    /// and counting is done. The files include all that will have a report, even if they cannot be sent.
    case counted(files: Int, bytes: UInt64)

    /// The progress of one upload.
    case progress(UploadProgress)

    /// One upload has ended, with its report.
    case finished(UploadReport)

    /// The server already has all files of a folder, so their uploads have ended. The event replaces their reports if
    /// `ClientConfiguration.asksByFolder` is set.
    case known(KnownFolder)
}

/// The progress of an upload; only an estimate.
public struct UploadProgress: Sendable, Equatable {
    /// What the client is doing with the upload.
    public enum Phase: Sendable, Equatable {
        /// The blocks that the server has of an interrupted upload are compared with the source.
        case resuming
        /// The content is being sent.
        case sending
    }

    /// What the client is doing with the upload.
    public var phase = Phase.sending

    /// The source, as the report will name it.
    public var source: String

    /// The bytes that the server has received; in the phase `resuming`, the bytes that were compared.
    public var bytes: UInt64

    /// The total bytes; nil if unknown, as for a stream.
    public var size: UInt64?
}

/// The reason why a push or request could not go on. Reports that came before it remain valid.
public struct TransferFailure: Error, Sendable, Equatable {
    /// The kind of failure, for programs.
    public enum Reason: Sendable, Equatable {
        /// There is no connection, or it was lost for good.
        case unreachable
        /// The server does not let this client in.
        case refused
        /// Client and server do not understand each other.
        case protocolFault
        /// The task or the consumer has cancelled the push or request.
        case cancelled
        /// The server or the configuration excludes what was asked for.
        case unsupported
        /// The server may be the wrong one, or a key or secret is unsafe.
        case untrusted
        /// The server, or the client itself, rejected the request with this code.
        case rejected(ResultCode)
    }

    /// The kind of failure, for programs.
    public let reason: Reason

    /// Sentences for the user that say what happened and what to do.
    public let message: String

    /// The change with which the same command would work, if there is one.
    package let remedy: Remedy?

    /// If there is no connection, a clause that says why; otherwise nil.
    let cause: String?

    package init(reason: Reason, message: String, remedy: Remedy? = nil) {
        self.init(reason: reason, message: message, remedy: remedy, cause: nil)
    }

    init(reason: Reason, message: String, remedy: Remedy? = nil, cause: String?) {
        (self.reason, self.message) = (reason, message)
        (self.remedy, self.cause) = (remedy, cause)
    }
}

/// A change that makes the same command work, for suggestions to users.
package struct Remedy: Sendable, Equatable {
    /// The purpose of the changed command in the words of the message, such as `to go on`.
    package let purpose: String

    /// The flags to add to the command; empty to run it unchanged.
    package let flags: [String]

    /// Runs the same command again after a lost connection.
    static let goingOn = Remedy(purpose: "to go on", flags: [])

    /// Connects to a server that has no TLS.
    static let bare = Remedy(purpose: "without encryption", flags: ["--plaintext"])
}

/// Failures whose messages say what happened, whether the client retried, and what the user can do.
extension TransferFailure {
    /// - Parameters:
    ///   - nameAdvice: advice for the case that the server's name could not be resolved, placed before the general
    ///     advice; nil for other causes.
    ///   - seconds: how long the client tried to connect, or to connect again; nil if it tried once.
    ///   - rest: the part of the work that the same command would continue with; nil if no connection was made before.
    static func unreachable(
        _ endpoint: Endpoint, _ reason: String, nameAdvice: String?, triedFor seconds: Double?,
        leaving rest: String? = "the files that are not acknowledged"
    ) -> TransferFailure {
        let tries = seconds.map { retries($0, isAgain: rest != nil) } ?? "It was tried once"
        let left = rest.map { "; run the same command again to continue with \($0)." } ?? ", and nothing was sent."
        let advice =
            nameAdvice.map {
                "\($0)Check whether the name is spelt right, and whether this machine is connected to a network."
            }
            ?? "Check whether 'transfer serve' runs there, and on that port."
        return TransferFailure(
            reason: .unreachable, message: "Cannot reach \(endpoint): \(sentence(reason)) \(tries)\(left) \(advice)",
            remedy: rest.map { _ in .goingOn }, cause: "cannot reach \(endpoint): \(reason)")
    }

    /// - Parameter seconds: how long the client retried; nil if a retry would change nothing.
    static func refused(_ result: UploadResult, triedFor seconds: Double? = nil) -> TransferFailure {
        let isAccess = result.code.class == .access || result.code == .busy
        let tries = seconds.map { retries($0) } ?? retries(0)
        let advice = result.code == .unsupportedVersion ? " Update the server or the client, whichever is older." : ""
        return TransferFailure(
            reason: isAccess ? .refused : .protocolFault,
            message: "The server refused: \(result.message) (\(result.code)). \(tries).\(advice)")
    }

    /// The server's key is not known, and no certificate vouches for it.
    static func unknown(_ server: UnknownServer) -> TransferFailure {
        let doubt =
            server.speaksTransfer ? "" : " It may not be a Transfer server: check whether the port is right."
        return TransferFailure(
            reason: .untrusted,
            message: """
                The server \(server.address) is not known here.\(doubt) It shows the key \(server.fingerprint); nothing was sent. \
                If the server's log shows the same key, add --server-key \(server.fingerprint), or --trust-new once.
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
            ? "The server at \(endpoint) does not speak this version of Transfer: "
                + "\(sentence(fault.message)) It was not tried again. Check whether the port is right; if it "
                + "is, update the server or the client, whichever is older."
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
    /// A message for users who expected a Transfer server at the endpoint.
    func sentence(_ endpoint: Endpoint) -> String {
        "\(endpoint) is \(name), not a Transfer server. Nothing was sent. Check whether the port is right."
    }
}
