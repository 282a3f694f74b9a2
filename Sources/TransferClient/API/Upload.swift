public import TransferModel

/// One operand of a push, and its name on the server.
public struct Upload: Sendable {
    /// The source of the content.
    public enum Source: Sendable {
        /// A file, or a directory with everything in it.
        case path(String)
        /// The content itself, in memory.
        case bytes([UInt8])
        /// A stream of unknown length.
        case stream(any ByteSource)
    }

    /// The source of the content.
    public var source: Source

    /// The path to store under, relative to the server's folder; nil for the last component of a path source.
    public var name: String?

    /// The kind of content; nil to detect it from the content.
    public var kind: ContentKind?

    /// The place below a directory where the source was found; nil for a source that the caller named.
    var place: SourcePlace?

    /// The identity that the file at the path must have to be sent; nil to send any file.
    var expected: SourceFile.Identity?

    /// The version of the stored file that this upload may replace; `FileVersion.none` if it must not replace a file,
    /// nil if it may replace any. It requires a path source, and a server with the feature `versions`.
    var replaceable: FileVersion?

    /// A file, or a directory with everything in it.
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

    /// Content that is in memory already.
    public static func bytes(_ bytes: [UInt8], name: String, kind: ContentKind? = nil) -> Upload {
        Upload(source: .bytes(bytes), name: name, kind: kind)
    }

    /// Text in memory, sent as UTF-8.
    public static func text(_ text: String, name: String) -> Upload {
        Upload(source: .bytes(Array(text.utf8)), name: name, kind: .text)
    }

    /// A stream of unknown length, such as standard input.
    public static func stream(_ stream: any ByteSource, name: String, kind: ContentKind? = nil) -> Upload {
        Upload(source: .stream(stream), name: name, kind: kind)
    }
}

/// Content that is read once, from its beginning to its end.
public protocol ByteSource: Sendable {
    /// Reads the next bytes. Called on a thread that may block, never by two threads at once.
    ///
    /// - Returns: the bytes put into `buffer`; 0 at the end.
    /// - Throws: any error; the upload is aborted and reported as unreadable.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}
