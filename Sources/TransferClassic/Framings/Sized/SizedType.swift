internal import TransferModel

/// What an upload of the `sized` framing is, as the numbers on its wire say it.
enum SizedType: Int32, CaseIterable {
    case text = 1
    case audio = 2
    case picture = 3
    case location = 4

    var kind: ContentKind {
        switch self {
        case .text: .text
        case .audio: .audio
        case .picture: .picture
        case .location: .location
        }
    }

    /// - Returns: nothing for a `file`, which the framing doesn't have.
    init?(_ kind: ContentKind) {
        guard let type = Self.allCases.first(where: { $0.kind == kind }) else { return nil }
        self = type
    }
}
