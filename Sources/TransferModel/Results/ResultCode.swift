/// How an upload or a conversation ended. Codes are stable: a number never changes its meaning.
///
/// An open set, because a newer peer may know codes that this one doesn't: those are treated by their class, which is
/// the number divided by 100.
public struct ResultCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public let rawValue: UInt16

    /// Takes any number, known or not.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Groups of codes: who has to do something about it.
    public enum Class: UInt16, Sendable {
        /// The content is where the acknowledgement says.
        case success = 0
        /// A peer broke the protocol.
        case `protocol` = 1
        /// The client may not do this.
        case access = 2
        /// The request cannot be met as it stands.
        case request = 3
        /// The content did not arrive as declared.
        case content = 4
        /// The server could not, for now or until somebody mends it.
        case server = 5
        /// The client could not; never on the wire.
        case client = 6
    }

    /// The group that the number belongs to; unknown groups count as the server's, and so does 0, so that a field left
    /// empty is never taken for a success.
    public var `class`: Class { rawValue == 0 ? .server : Class(rawValue: rawValue / 100) ?? .server }

    /// Whether the upload ended as its sender wished.
    public var isSuccess: Bool { self.class == .success }

    /// The stable name, as it stands in logs and JSON; unknown codes are named by their number.
    public var name: String { Self.names[self] ?? "result\(rawValue)" }

    /// Whether the same upload, unchanged, can succeed later.
    public var isRetryable: Bool { Self.retryable.contains(self) }

    /// What the command line exits with when this ends a whole push: 0 success, 1 some uploads failed, 4 access
    /// refused, 5 protocol fault, 6 sent and not acknowledged.
    public var exitCode: Int32 {
        switch self.class {
        case _ where self == .unacknowledged: 6
        case .success: 0
        case .request, .content, .client, .server: 1
        case .access: 4
        case .protocol: 5
        }
    }
}

extension ResultCode {
    /// Verified, durable and published under the stored path.
    public static let committed = ResultCode(rawValue: 1)
    /// The same content was already stored under the stored path.
    public static let alreadyStored = ResultCode(rawValue: 2)
    /// The name is taken and the client asked to leave it as it is; nothing was stored.
    public static let skipped = ResultCode(rawValue: 3)
    /// A part is verified and kept; its upload is neither complete nor durable.
    public static let staged = ResultCode(rawValue: 4)
    /// What was asked for is done, all of it.
    public static let completed = ResultCode(rawValue: 5)
    /// A server that speaks another protocol says that it has the content, and nothing shows that it is durable. Never on the
    /// wire.
    public static let stored = ResultCode(rawValue: 6)

    /// A frame or a body that cannot be decoded.
    public static let malformedFrame = ResultCode(rawValue: 100)
    /// A frame of another protocol version.
    public static let unsupportedVersion = ResultCode(rawValue: 101)
    /// A function code that this side does not know.
    public static let unsupportedFunction = ResultCode(rawValue: 102)
    /// A body longer than its limit, on the wire or after inflating.
    public static let frameTooLarge = ResultCode(rawValue: 103)
    /// A frame that is not legal in the present state of the conversation.
    public static let unexpectedFrame = ResultCode(rawValue: 104)
    /// A compressed body that is not one whole zlib stream or zstd frame.
    public static let corruptCompression = ResultCode(rawValue: 105)
    /// A frame whose check does not match: it was damaged on its way.
    public static let damagedFrame = ResultCode(rawValue: 106)

    /// The server asks for credentials.
    public static let authenticationRequired = ResultCode(rawValue: 200)
    /// The credentials were not accepted.
    public static let authenticationFailed = ResultCode(rawValue: 201)
    /// This client may not do this.
    public static let forbidden = ResultCode(rawValue: 202)
    /// The server takes encrypted connections only.
    public static let encryptionRequired = ResultCode(rawValue: 203)

    /// A path that is not allowed; the message says why.
    public static let invalidPath = ResultCode(rawValue: 300)
    /// The name is taken by something that must not be replaced.
    public static let pathConflict = ResultCode(rawValue: 301)
    /// Larger than the server takes.
    public static let uploadTooLarge = ResultCode(rawValue: 302)
    /// A digest algorithm that this side does not know.
    public static let unsupportedDigest = ResultCode(rawValue: 303)
    /// The sender took the upload back.
    public static let aborted = ResultCode(rawValue: 304)
    /// There is nothing under the path.
    public static let notFound = ResultCode(rawValue: 305)
    /// Something else has the path than was asked for: a directory, a file, or neither.
    public static let wrongForm = ResultCode(rawValue: 306)
    /// Nobody of that name has a mailbox on the server.
    public static let unknownRecipient = ResultCode(rawValue: 307)

    /// More or fewer bytes arrived than were declared.
    public static let sizeMismatch = ResultCode(rawValue: 400)
    /// The bytes that arrived have another digest than declared.
    public static let digestMismatch = ResultCode(rawValue: 401)
    /// An upload id that was used for other content.
    public static let contentMismatch = ResultCode(rawValue: 402)
    /// Parts of the upload are missing: the server never had them, or has given them up.
    public static let incomplete = ResultCode(rawValue: 403)
    /// The stored file changed while it was read.
    public static let fileChanged = ResultCode(rawValue: 404)

    /// The server's file system is full.
    public static let insufficientStorage = ResultCode(rawValue: 500)
    /// The quota is used up.
    public static let quotaExceeded = ResultCode(rawValue: 501)
    /// The server's file system reported an error.
    public static let storageFailed = ResultCode(rawValue: 502)
    /// The server has no capacity now.
    public static let busy = ResultCode(rawValue: 503)
    /// The server is stopping.
    public static let shuttingDown = ResultCode(rawValue: 504)
    /// The peer was silent, idle or too slow for too long.
    public static let timedOut = ResultCode(rawValue: 505)

    /// The server's disk has lost the content that was stored.
    public static let contentLost = ResultCode(rawValue: 506)

    /// The source changed while it was read.
    public static let sourceChanged = ResultCode(rawValue: 600)
    /// The source could not be read.
    public static let sourceUnreadable = ResultCode(rawValue: 601)
    /// The source is not a regular file, a directory or a stream.
    public static let sourceSkipped = ResultCode(rawValue: 602)
    /// The connection was lost and could not be made again in time.
    public static let connectionLost = ResultCode(rawValue: 603)
    /// The push was stopped before this upload was acknowledged.
    public static let cancelled = ResultCode(rawValue: 604)
    /// The content is stored, but the receipt that was asked for is missing or wrong.
    public static let badReceipt = ResultCode(rawValue: 605)
    /// What was fetched could not be stored on this machine.
    public static let targetFailed = ResultCode(rawValue: 606)
    /// All of it was sent and no answer came, because there is none or because it was lost: nobody here knows whether it is
    /// stored. To send it again can store it twice.
    public static let unacknowledged = ResultCode(rawValue: 607)
    /// What is spoken cannot carry the content, or what else is to be kept of it.
    public static let unsuitable = ResultCode(rawValue: 608)
    /// What was fetched is sealed, and this client cannot open it, or it is not what its sender has said.
    public static let unopened = ResultCode(rawValue: 609)
    /// What is sealed is not signed by a key that is known as its sender's.
    public static let wrongSigner = ResultCode(rawValue: 610)

    /// Every code with its name, in the order of `docs/reference/protocol.md`.
    package static let all: [(code: ResultCode, name: String)] = [
        (.committed, "committed"), (.alreadyStored, "alreadyStored"), (.skipped, "skipped"), (.staged, "staged"),
        (.completed, "completed"), (.stored, "stored"),
        (.malformedFrame, "malformedFrame"), (.unsupportedVersion, "unsupportedVersion"),
        (.unsupportedFunction, "unsupportedFunction"), (.frameTooLarge, "frameTooLarge"),
        (.unexpectedFrame, "unexpectedFrame"), (.corruptCompression, "corruptCompression"),
        (.damagedFrame, "damagedFrame"),
        (.authenticationRequired, "authenticationRequired"), (.authenticationFailed, "authenticationFailed"),
        (.forbidden, "forbidden"), (.encryptionRequired, "encryptionRequired"),
        (.invalidPath, "invalidPath"), (.pathConflict, "pathConflict"),
        (.uploadTooLarge, "uploadTooLarge"), (.unsupportedDigest, "unsupportedDigest"), (.aborted, "aborted"),
        (.notFound, "notFound"), (.wrongForm, "wrongForm"), (.unknownRecipient, "unknownRecipient"),
        (.sizeMismatch, "sizeMismatch"), (.digestMismatch, "digestMismatch"), (.contentMismatch, "contentMismatch"),
        (.incomplete, "incomplete"), (.fileChanged, "fileChanged"),
        (.insufficientStorage, "insufficientStorage"), (.quotaExceeded, "quotaExceeded"),
        (.storageFailed, "storageFailed"), (.busy, "busy"), (.shuttingDown, "shuttingDown"), (.timedOut, "timedOut"),
        (.contentLost, "contentLost"),
        (.sourceChanged, "sourceChanged"), (.sourceUnreadable, "sourceUnreadable"),
        (.sourceSkipped, "sourceSkipped"), (.connectionLost, "connectionLost"), (.cancelled, "cancelled"),
        (.badReceipt, "badReceipt"), (.targetFailed, "targetFailed"),
        (.unacknowledged, "unacknowledged"), (.unsuitable, "unsuitable"), (.unopened, "unopened"),
        (.wrongSigner, "wrongSigner"),
    ]

    // Trap: the codes of `all` are constants above, and a test compares them with the document.
    private static let names = Dictionary(uniqueKeysWithValues: all.map { ($0.code, $0.name) })

    private static let retryable: Set<ResultCode> = [
        .corruptCompression, .damagedFrame, .digestMismatch, .incomplete, .fileChanged, .busy, .shuttingDown, .timedOut,
    ]
}

extension ResultCode: CustomStringConvertible {
    /// The stable name.
    public var description: String { name }
}
