/// A path, a name, or what holds one, as a key or to be compared: by its bytes, as file systems do it.
///
/// Equality and hashes of `String` are those of canonically equivalent text, for which `é` as one scalar and as two are the
/// same. On disk they are two files.
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
