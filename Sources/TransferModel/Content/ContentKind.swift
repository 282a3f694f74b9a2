/// What an upload is, for whoever looks at it later; the bytes are treated alike.
public enum ContentKind: UInt8, Sendable, CaseIterable {
    /// Anything.
    case file = 0
    /// Text, UTF-8.
    case text = 1
    /// An image.
    case picture = 2
    /// Sound.
    case audio = 3
    /// A place: a geo URI, GPX, KML or GeoJSON.
    case location = 4

    /// The stable name.
    public var name: String {
        // `String(describing:)` looks the name up anew each time, which takes longer than all the rest of a receipt.
        switch self {
        case .file: "file"
        case .text: "text"
        case .picture: "picture"
        case .audio: "audio"
        case .location: "location"
        }
    }

    /// The kind of that name, or nothing.
    public init?(name: String) {
        guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }
}

/// What the server does when the name is taken by other content.
public enum ConflictPolicy: UInt8, Sendable, CaseIterable {
    /// Stores beside it, under a numbered name such as `photo-1.png`.
    case keepBoth = 0
    /// Replaces it.
    case overwrite = 1
    /// Leaves it and stores nothing; the result is `skipped`.
    case skip = 2
    /// Leaves it; the result is `pathConflict`.
    case fail = 3
}

/// What is sent, fetched or made: a file or one of the things that are kept beside files on request.
public enum EntryForm: String, Sendable, CaseIterable {
    /// A file with its content.
    case file
    /// A folder.
    case folder
    /// A symbolic link.
    case link
    /// Another name of a file that has one already.
    case hardLink = "hard-link"
}
