/// What became of an upload that is for somebody. Numbers never change their meaning.
public enum DeliveryState: UInt8, CaseIterable, Sendable {
    /// It waits for its recipient.
    case queued = 1
    /// The recipient has had all of it, and has not said yet that it is safe there.
    case fetched = 2
    /// It is durable where the recipient keeps it, who has said so.
    case delivered = 3
    /// The recipient doesn't want it.
    case declined = 4
    /// Nobody has come for it in time.
    case expired = 5

    /// The stable name, as it stands in JSON.
    public var name: String {
        switch self {
        case .queued: "queued"
        case .fetched: "fetched"
        case .delivered: "delivered"
        case .declined: "declined"
        case .expired: "expired"
        }
    }

    /// Whether its recipient can still have it.
    public var isOpen: Bool { self == .queued || self == .fetched }
}
