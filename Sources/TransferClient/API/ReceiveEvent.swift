public import TransferKeys
public import TransferModel

/// An event of receiving deliveries; events arrive in order.
public enum ReceiveEvent: Sendable {
    /// The server has let the client in.
    case connected(server: String)

    /// The connection was lost; the client tries again after `after` seconds.
    case reconnecting(reason: String, after: Double)

    /// A wanted delivery waits on the server.
    case found(Delivery)

    /// A sealed delivery is signed by a key that this client has not seen before. From now on the key counts as the
    /// sender's. To be sure, compare its fingerprint with the one that the sender states.
    case met(name: String, fingerprint: KeyFingerprint)

    /// The progress of a long delivery; an estimate for display.
    case progress(UploadProgress)

    /// One delivery has ended, received or not.
    case finished(ReceiveReport)
}

/// The outcome of one delivery.
public struct ReceiveReport: Sendable, Equatable {
    /// The delivery as the server listed it.
    public let delivery: Delivery

    /// `committed` if it was fetched and stored, `alreadyStored` if this machine already had the same content,
    /// `skipped`, `completed` if it was declined; otherwise the reason of the failure.
    public var result: ResultCode

    /// The path of the content below the directory that receives it; nil unless the content is durable in that
    /// directory.
    public var path: String?

    /// The state as the server knows it: `delivered` once the server has confirmed the report of the delivery.
    public var state: DeliveryState

    /// The bytes of content that were stored; `Delivery.shownSize` if none were.
    public var size: UInt64

    /// The bytes that were not fetched again, because an earlier attempt had fetched them.
    public var resumed: UInt64 = 0

    /// Seconds from the first request until the content was stored.
    public var seconds = 0.0

    /// A sentence for the user; empty if there is nothing to say.
    public var message = ""

    /// What the seal proves about the sender; nil if the delivery was not sealed or was not stored.
    public var seal: DeliverySeal?
}

/// The options of `TransferClient.receive(to:_:)`: which deliveries are received, and how they are stored.
public struct ReceiveOptions: Sendable {
    /// The decision about one delivery.
    public enum Choice: Sendable {
        /// Receive it under the name that its sender gave.
        case take
        /// Receive it under this name.
        case takeAs(String)
        /// Leave it waiting on the server.
        case leave
        /// Report to the server that it is not wanted.
        case decline
    }

    /// The names of senders whose deliveries are wanted, compared byte by byte; empty for all.
    public var senders: [String] = []

    /// Whether the client waits for later deliveries and receives these as well, until it is cancelled.
    public var watches = false

    /// Whether deliveries are stored without a report to the server: they keep waiting there.
    public var keeps = false

    /// Whether names that begin with a dot are stored unchanged. If false, `_` replaces the dot, because many programs
    /// read hidden files without being asked to, and these names come from other people.
    public var takesHiddenNames = false

    /// Whether files keep the execute permissions that their senders gave them. If false, these permissions are
    /// removed.
    public var takesExecution = false

    /// Whether sealed deliveries are opened. If false, they are stored encrypted, with `.age` after their names, and
    /// age(1) can open them.
    public var opens = true

    /// Decides about one delivery after the other; nil to receive all.
    public var choose: (@Sendable (Delivery) async -> Choice)?

    /// Creates options with the defaults.
    public init() {}
}
