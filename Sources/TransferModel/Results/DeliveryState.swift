/// State of a delivery. Numbers never change their meaning.
public enum DeliveryState: UInt8, CaseIterable, Sendable {
    /// The delivery waits for its recipient.
    case queued = 1
    /// The recipient has fetched all content, but has not yet confirmed that it is stored.
    case fetched = 2
    /// The recipient has confirmed that the content is stored durably.
    case delivered = 3
    /// The recipient has declined the delivery.
    case declined = 4
    /// The recipient neither confirmed nor declined the delivery in time.
    case expired = 5

    /// The stable name, as in JSON.
    public var name: String {
        switch self {
        case .queued: "queued"
        case .fetched: "fetched"
        case .delivered: "delivered"
        case .declined: "declined"
        case .expired: "expired"
        }
    }

    /// Whether the recipient can still fetch the delivery.
    public var isOpen: Bool { self == .queued || self == .fetched }
}
