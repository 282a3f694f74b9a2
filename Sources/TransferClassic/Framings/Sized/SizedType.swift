internal import TransferModel

/// The numbers for the kinds of uploads in the `sized` framing.
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

    /// - Returns: nil for a `file`, which the framing does not have.
    init?(_ kind: ContentKind) {
        guard let type = Self.allCases.first(where: { $0.kind == kind }) else { return nil }
        self = type
    }
}
