public import TransferModel

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
