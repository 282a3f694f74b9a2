/// Tells what a store has under a path from what it had there before, without reading it. A store makes it, and knows what the
/// numbers mean; whoever keeps it compares.
package struct ContentVersion: Hashable, Sendable {
    /// Which object it is: in a directory, which file.
    package let object: UInt64

    /// Another one whenever the content of the object may have been changed.
    package let revision: Int64

    /// Another one, and by the store's clock a later one, whenever anything of the object was changed: its content, its names
    /// or its rights.
    package let touch: Int64

    /// Bytes of content.
    package let size: UInt64

    package init(object: UInt64, revision: Int64, touch: Int64, size: UInt64) {
        (self.object, self.revision, self.touch, self.size) = (object, revision, touch, size)
    }

    /// Whether it is the same object with the same content, whatever names and rights it has got since.
    package func hasSameContent(as other: ContentVersion) -> Bool {
        object == other.object && hasSameRevision(as: other)
    }

    /// Whether it is another object, which was touched later.
    package func hasReplaced(_ other: ContentVersion) -> Bool { object != other.object && touch > other.touch }

    /// Whether an earlier upload may be the one that a file belongs to: it was touched later than what was acknowledged last, or it is
    /// that file with another revision.
    ///
    /// - Parameter last: the version of what was acknowledged last under the file's path.
    package func mayBeEarlier(than last: ContentVersion) -> Bool {
        !hasSameContent(as: last) && (object == last.object || hasReplaced(last))
    }

    /// Whether nobody has changed the content, although it may be in another object by now: a copy of the whole directory.
    package func hasSameRevision(as other: ContentVersion) -> Bool {
        revision == other.revision && size == other.size
    }
}

/// Tells what a stored file was from what it is: 16 bytes that change whenever its content may have. Opaque to clients,
/// which compare it and give it back.
package struct FileVersion: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// As directories have it.
    package static let none = FileVersion(high: 0, low: 0)
}
