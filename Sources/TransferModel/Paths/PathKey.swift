/// A path, or text that contains one, compared and hashed by its bytes, as file systems do.
///
/// `String` compares canonically equivalent text as equal, such as `é` as one scalar and as two. On disk they are two
/// files.
package struct PathKey: Hashable, Sendable {
    package let string: String

    package init(_ string: String) {
        self.string = string
    }

    package static func == (a: PathKey, b: PathKey) -> Bool { a.string.hasSameBytes(as: b.string) }

    package func hash(into hasher: inout Hasher) {
        string.hashBytes(into: &hasher)
    }
}

extension PathKey: Comparable {
    package static func < (a: PathKey, b: PathKey) -> Bool { a.string.utf8.lexicographicallyPrecedes(b.string.utf8) }
}
