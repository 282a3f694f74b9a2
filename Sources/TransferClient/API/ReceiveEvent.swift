public import TransferKeys
public import TransferModel

/// What happens while deliveries are received, in order.
public enum ReceiveEvent: Sendable {
    /// The server has answered.
    case connected(server: String)

    /// The connection was lost; the next attempt follows after that many seconds.
    case reconnecting(reason: String, after: Double)

    /// A delivery waits that is wanted.
    case found(Delivery)

    /// A sealed delivery is signed by a key that was never seen before, and is taken for that person's from now on. Who wants
    /// to be sure compares it with what that person says it is.
    case met(name: String, fingerprint: KeyFingerprint)

    /// How far a long one is; not a promise.
    case progress(UploadProgress)

    /// A delivery is here, or not.
    case finished(ReceiveReport)
}

/// What became of one delivery.
public struct ReceiveReport: Sendable, Equatable {
    /// As it was listed.
    public let delivery: Delivery

    /// `committed` when it was fetched and stored, `alreadyStored` when the same content was there, `skipped`, `completed` when
    /// it was declined; or why not.
    public var result: ResultCode

    /// Where the content is, below the directory that it was received to; nothing unless it is there, durably.
    public var path: String?

    /// What the server knows: `delivered` when it was told so and has answered.
    public var state: DeliveryState

    /// Bytes of content: those that are there, or else as `Delivery.shownSize`.
    public var size: UInt64

    /// Bytes that did not have to travel, because an earlier attempt had fetched them.
    public var resumed: UInt64 = 0

    /// From the first request to the content's being here.
    public var seconds = 0.0

    /// A sentence for people; empty when there is nothing to say.
    public var message = ""

    /// What is known of the sender; nil if the content did not travel sealed or is not here.
    public var seal: DeliverySeal?
}

/// What is received, and how.
public struct ReceiveOptions: Sendable {
    /// What to do about a delivery.
    public enum Choice: Sendable {
        /// Receive it under its sender's name for it.
        case take
        /// Receive it under this name.
        case takeAs(String)
        /// Leave it where it is.
        case leave
        /// Tell the server that it is not wanted.
        case decline
    }

    /// Whose deliveries are wanted, compared byte by byte; all if there is none.
    public var senders: [String] = []

    /// Whether it goes on with what comes later, until it is stopped.
    public var watches = false

    /// Whether deliveries are stored and the server is not told so: they wait there as before.
    public var keeps = false

    /// Whether names that begin with a dot are stored as they are. Otherwise `_` takes the dot's place: many programs read
    /// such files without being told to, and these names come from other people.
    public var takesHiddenNames = false

    /// Whether files keep the permissions to run them that their senders have given them. Otherwise these are taken off.
    public var takesExecution = false

    /// Whether what is sealed is opened. Otherwise it is stored as it comes, with `.age` behind its name, and age(1) opens it.
    public var opens = true

    /// Asked about one delivery after the other; without it all are taken.
    public var choose: (@Sendable (Delivery) async -> Choice)?

    /// The defaults.
    public init() {}
}
