public import TransferModel

/// Something to push.
public struct Upload: Sendable {
    /// Where the bytes come from.
    public enum Source: Sendable {
        /// A file, or a directory with all that is in it.
        case path(String)
        /// Content in memory.
        case bytes([UInt8])
        /// Content without a known end.
        case stream(any ByteSource)
    }

    /// Where the bytes come from.
    public var source: Source

    /// The path to store under, relative to the server's folder; for a path source, nothing means its last component.
    public var name: String?

    /// What it is; nothing means that the content tells.
    public var kind: ContentKind?

    /// Where it was found below a directory, by the same path; nil for what was named.
    var place: SourcePlace?

    /// What the file under a path has to be, where nothing else is to be sent.
    var expected: SourceFile.Identity?

    /// What it may take the place of, where it overwrites; `FileVersion.none` for nothing, and nil for whatever is there. Only of a path,
    /// and for servers with the feature `versions`.
    var replaceable: FileVersion?

    /// A file or a directory.
    public static func path(_ path: String, name: String? = nil, kind: ContentKind? = nil) -> Upload {
        Upload(source: .path(path), name: name, kind: kind)
    }

    /// A file that was found below a directory.
    init(at place: SourcePlace, name: String) {
        (source, self.name, self.place) = (.path(place.path), name, place)
    }

    private init(source: Source, name: String?, kind: ContentKind?) {
        (self.source, self.name, self.kind) = (source, name, kind)
    }

    /// Content in memory.
    public static func bytes(_ bytes: [UInt8], name: String, kind: ContentKind? = nil) -> Upload {
        Upload(source: .bytes(bytes), name: name, kind: kind)
    }

    /// Text in memory, sent as UTF-8.
    public static func text(_ text: String, name: String) -> Upload {
        Upload(source: .bytes(Array(text.utf8)), name: name, kind: .text)
    }

    /// Content without a known end, such as standard input.
    public static func stream(_ stream: any ByteSource, name: String, kind: ContentKind? = nil) -> Upload {
        Upload(source: .stream(stream), name: name, kind: kind)
    }
}

/// Content that is read once, from the front to the end.
public protocol ByteSource: Sendable {
    /// Called on a thread that may block, never by two threads at once.
    ///
    /// - Returns: how many bytes were put into `buffer`; 0 at the end.
    /// - Throws: anything; the upload is taken back and reported as unreadable.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}
