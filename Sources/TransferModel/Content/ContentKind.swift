/// The kind of an upload's content, for people and programs that receive it; Transfer treats all kinds alike.
public enum ContentKind: UInt8, Sendable, CaseIterable {
    /// Any content; the default kind.
    case file = 0
    /// Text that is encoded in UTF-8.
    case text = 1
    case picture = 2
    case audio = 3
    /// A place: a geo URI, GPX, KML or GeoJSON.
    case location = 4

    /// The stable name, as in receipts and JSON.
    public var name: String {
        // `String(describing:)` looks up the name again at each call, which takes longer than writing the rest of a
        // receipt.
        switch self {
        case .file: "file"
        case .text: "text"
        case .picture: "picture"
        case .audio: "audio"
        case .location: "location"
        }
    }

    /// Finds the kind with this name; nil for an unknown name.
    public init?(name: String) {
        guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }
}

/// What the server does if other content has the path.
public enum ConflictPolicy: UInt8, Sendable, CaseIterable {
    /// Stores the new content under a numbered name such as `photo-1.png`.
    case keepBoth = 0
    /// The new content replaces the existing one.
    case overwrite = 1
    /// Keeps the existing content and stores nothing; the result is `skipped`.
    case skip = 2
    /// Keeps the existing content; the result is `pathConflict`.
    case fail = 3
}

/// Type of an entry that is sent, fetched or made: a file, or an entry without content that is preserved only on
/// request.
public enum EntryForm: String, Sendable, CaseIterable {
    case file
    case folder
    case link
    /// A further name of an existing file.
    case hardLink = "hard-link"
}
