/// Identifies an object in a store and the state in which it is, so that a change is detected without reading content.
/// The store makes versions and knows what the numbers mean; other code only compares them.
package struct ContentVersion: Hashable, Sendable {
    /// Identifies the object; in a directory, this is the number of the file.
    package let object: UInt64

    /// Changes whenever the object's content may have changed.
    package let revision: Int64

    /// Changes whenever content, names or rights of the object change. The new value is later, by the store's clock.
    package let touch: Int64

    /// Size of the content in bytes.
    package let size: UInt64

    package init(object: UInt64, revision: Int64, touch: Int64, size: UInt64) {
        (self.object, self.revision, self.touch, self.size) = (object, revision, touch, size)
    }

    /// Whether both are the same object with the same content; names and rights may differ.
    package func hasSameContent(as other: ContentVersion) -> Bool {
        object == other.object && hasSameRevision(as: other)
    }

    /// Whether this is another object that was touched later.
    package func hasReplaced(_ other: ContentVersion) -> Bool { object != other.object && touch > other.touch }

    /// Whether a file with this version may belong to an upload before the last acknowledged one. Either it is another
    /// file that was touched later, or it is the same file with another revision.
    ///
    /// - Parameter last: the version in the latest acknowledgement for the file's path.
    package func mayBeEarlier(than last: ContentVersion) -> Bool {
        !hasSameContent(as: last) && (object == last.object || hasReplaced(last))
    }

    /// Whether the content is unchanged, even if the object is another one, as after copying the whole directory.
    package func hasSameRevision(as other: ContentVersion) -> Bool {
        revision == other.revision && size == other.size
    }
}

/// Version of a stored file: 16 bytes that change whenever the file's content may have changed. Their meaning is
/// unknown to clients, which compare versions and send them back.
package struct FileVersion: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Stands for a directory, or for the absence of a file.
    package static let none = FileVersion(high: 0, low: 0)
}
