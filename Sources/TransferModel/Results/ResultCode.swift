/// How an upload or a conversation ended. Codes are stable: a number never changes its meaning.
///
/// The set of codes is open, because a newer peer may know codes that this program doesn't know. Those are treated by
/// their class, which is the number divided by 100.
public struct ResultCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public let rawValue: UInt16

    /// Accepts any number, whether its code is known or not.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Groups of codes, by the side that has to do something about the failure.
    public enum Class: UInt16, Sendable {
        /// The content is where the acknowledgement says it is.
        case success = 0
        /// A peer broke the protocol.
        case `protocol` = 1
        /// The client is not allowed to do this.
        case access = 2
        /// The request in its present form cannot be fulfilled.
        case request = 3
        /// The content did not arrive as declared.
        case content = 4
        /// The server failed, for now or until its operator repairs it.
        case server = 5
        /// The client failed. This is never sent on the wire.
        case client = 6
    }

    /// The group that the number belongs to. Unknown groups count as the server's. So does 0, so that a field left
    /// empty never counts as a success.
    public var `class`: Class { rawValue == 0 ? .server : Class(rawValue: rawValue / 100) ?? .server }

    /// Whether the upload ended as the client wished.
    public var isSuccess: Bool { self.class == .success }

    /// The stable name for logs and JSON; an unknown code is named by its number.
    public var name: String { Self.names[self] ?? "result\(rawValue)" }

    /// Whether the same upload, unchanged, can succeed later.
    public var isRetryable: Bool { Self.retryable.contains(self) }

    /// The exit code of the command line if this result ends a whole push: 0 success, 1 some uploads failed, 4 access
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
    /// The content is verified and published under the stored path, and durable if the answer says so.
    public static let committed = ResultCode(rawValue: 1)
    /// The same content was already stored under the stored path.
    public static let alreadyStored = ResultCode(rawValue: 2)
    /// The name is taken, and nothing was stored, as the client asked. Choose another conflict policy.
    public static let skipped = ResultCode(rawValue: 3)
    /// A part is verified and kept; its upload is neither complete nor durable. Send the other parts.
    public static let staged = ResultCode(rawValue: 4)
    /// Everything that was asked for is done.
    public static let completed = ResultCode(rawValue: 5)
    /// A server of another protocol says that it has the content; nothing shows that it is durable. Never on the wire.
    public static let stored = ResultCode(rawValue: 6)

    /// A frame or a body cannot be decoded. One side has a fault: compare their versions.
    public static let malformedFrame = ResultCode(rawValue: 100)
    /// The frame has another protocol version. Update the older side.
    public static let unsupportedVersion = ResultCode(rawValue: 101)
    /// This side does not know the function code. Update it.
    public static let unsupportedFunction = ResultCode(rawValue: 102)
    /// A body is longer than its limit, on the wire or inflated. One side has a fault.
    public static let frameTooLarge = ResultCode(rawValue: 103)
    /// The frame is not legal in this state of the conversation. One side has a fault.
    public static let unexpectedFrame = ResultCode(rawValue: 104)
    /// A compressed body is not one whole zlib stream or zstd frame. Send it again.
    public static let corruptCompression = ResultCode(rawValue: 105)
    /// A frame was damaged on its way: its check does not match. Send it again.
    public static let damagedFrame = ResultCode(rawValue: 106)

    /// The server asks for credentials. Have your key added to its lists, or show a token.
    public static let authenticationRequired = ResultCode(rawValue: 200)
    /// The server did not accept the credentials. Show a key or token from its lists.
    public static let authenticationFailed = ResultCode(rawValue: 201)
    /// This client may not do this. Ask the server's operator for the right.
    public static let forbidden = ResultCode(rawValue: 202)
    /// The server accepts encrypted connections only. Connect with TLS.
    public static let encryptionRequired = ResultCode(rawValue: 203)

    /// The path is not allowed; the message says why. Rename it.
    public static let invalidPath = ResultCode(rawValue: 300)
    /// The name is taken by something that must not be replaced. Choose another name, or the policy `keep-both`.
    public static let pathConflict = ResultCode(rawValue: 301)
    /// The content is larger than the server accepts. Its operator can raise the limit.
    public static let uploadTooLarge = ResultCode(rawValue: 302)
    /// This side does not know the digest algorithm. Choose another one.
    public static let unsupportedDigest = ResultCode(rawValue: 303)
    /// The sender took the upload back.
    public static let aborted = ResultCode(rawValue: 304)
    /// There is nothing under the path. Check its spelling.
    public static let notFound = ResultCode(rawValue: 305)
    /// A directory has the path of a file, or the reverse. Choose another path.
    public static let wrongForm = ResultCode(rawValue: 306)
    /// No mailbox on the server has that name. `transfer people` lists the names.
    public static let unknownRecipient = ResultCode(rawValue: 307)

    /// More or fewer bytes arrived than were declared. The client has a fault.
    public static let sizeMismatch = ResultCode(rawValue: 400)
    /// The bytes that arrived have another digest than declared. Send them again.
    public static let digestMismatch = ResultCode(rawValue: 401)
    /// The upload ID was used for other content. Use a new one.
    public static let contentMismatch = ResultCode(rawValue: 402)
    /// Parts of the upload are missing on the server. Send all of it again.
    public static let incomplete = ResultCode(rawValue: 403)
    /// The stored file changed while it was read, or since it was listed. Fetch it again.
    public static let fileChanged = ResultCode(rawValue: 404)

    /// The server's file system is full. Push again when there is room.
    public static let insufficientStorage = ResultCode(rawValue: 500)
    /// The quota is used up. Remove files, or have it raised.
    public static let quotaExceeded = ResultCode(rawValue: 501)
    /// The server's file system reported an error. The server's log names it.
    public static let storageFailed = ResultCode(rawValue: 502)
    /// The server has no capacity now. Try again after the time that it names.
    public static let busy = ResultCode(rawValue: 503)
    /// The server is stopping. Try again when it is back.
    public static let shuttingDown = ResultCode(rawValue: 504)
    /// The peer was silent, idle or too slow for too long. Try again.
    public static let timedOut = ResultCode(rawValue: 505)

    /// The server's disk has lost the content. Push it again; `transfer verify` on the server finds all such files.
    public static let contentLost = ResultCode(rawValue: 506)

    /// The source changed while it was read. Push it again when it is no longer written.
    public static let sourceChanged = ResultCode(rawValue: 600)
    /// The source could not be read. Check its permissions and its disk.
    public static let sourceUnreadable = ResultCode(rawValue: 601)
    /// The source is not a regular file, a directory or a stream.
    public static let sourceSkipped = ResultCode(rawValue: 602)
    /// The connection was lost for too long. Run the same command again.
    public static let connectionLost = ResultCode(rawValue: 603)
    /// The command was stopped before the acknowledgement. Run it again.
    public static let cancelled = ResultCode(rawValue: 604)
    /// The content is stored, but its receipt is missing or wrong. Push again for another receipt.
    public static let badReceipt = ResultCode(rawValue: 605)
    /// Fetched content could not be stored on this machine. Check its disk and permissions.
    public static let targetFailed = ResultCode(rawValue: 606)
    /// All was sent, and no answer came. Look on the server before you send it again, or it may be stored twice.
    public static let unacknowledged = ResultCode(rawValue: 607)
    /// The protocol cannot carry the content or its attributes. Use other options.
    public static let unsuitable = ResultCode(rawValue: 608)
    /// Sealed content cannot be opened here, or is not what its sender signed. It stays in the mailbox.
    public static let unopened = ResultCode(rawValue: 609)
    /// Sealed content is not signed with its sender's known key. It stays in the mailbox; ask the sender.
    public static let wrongSigner = ResultCode(rawValue: 610)

    /// Every code with its name, in the order of `docs/reference/results.md`, which takes its sentences from the comments above.
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
    /// The stable name, for logs and JSON.
    public var description: String { name }
}
